/* Names for screen readers where the theme gives none. */
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("summary:has(.toctree-toggle)")) {
    toggle.setAttribute("aria-label", "Pages inside");
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
});
