"""Bias learned by networks in torch, trained with skorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import FeaturePairs
from skanchor._model.sources import sigmoid
from skanchor._typing import Array
from skanchor.bias.fitting import (
    LINEAR_RIDGE,
    StagedLearner,
    TrainingRows,
    fit_exactly,
    loss_terms,
    response_moments,
    simplest_within_error,
)
from skanchor.exceptions import LearnerError

LARGEST_ALPHA, N_ALPHAS = 1e3, 13
"""First ridge and length of the path that ``alpha="auto"`` chooses from."""

LEAST_ROWS = 20.0
"""The path ends at this number over the number of rows. Where the same responses recur
in several rows, leaving one of these out hides little, and its loss would favour a
smaller ridge than new responses do."""

PILOT_ALPHA, PILOT_TOLERANCE = 0.1, 1.0
"""Ridge and tolerance of a first logistic fit; the leave-one-out losses are those of
the quadratic approximation of the loss about it."""

LEAST_CURVATURE = 1e-6
"""Least curvature of a row in that approximation."""

FULL_LEVERAGE = 1.0 - 1e-6
"""Largest leverage in the leave-one-out formula: at 1 a row determines its own fit."""


class NetworkBias(StagedLearner):
    """Bias as a neural network, the same for both responses.

    ``psi(x) = b' (x, body(x))`` has two parts. The body is a stack of hidden layers,
    trained by stochastic gradients together with the parametric columns. The head is
    linear in the body's output and in the standardised features themselves. After the
    body is trained, head and parametric coefficients are fitted exactly, as in
    :class:`LinearBias`. So the bounds of the sensitivity hold exactly, too.

    Parameters
    ----------
    module : callable, optional
        Class of the body, called as ``module(n_features, **module__...)``; a torch
        module that maps (n_rows, n_features) to (n_rows, width), row by row. None means
        linear layers with ReLU units. Units of the first layer start with one, two or
        all features as inputs, in turn.
    alpha : float or "auto", default="auto"
        Ridge penalty of the head, as in :class:`LinearBias`: ``alpha / 2`` times the
        squared norm of the coefficients of standardised hidden features is added to the
        mean weighted loss. ``"auto"`` chooses the largest of a path from 1,000 to
        20 / n whose leave-one-out loss is within one standard error of the lowest. A
        bias without curvature is then fitted as a linear one. The linear part is hardly
        shrunk.
    bound : float, default=10.0
        psi is clipped to ``[-bound, bound]`` about its mean, in judge logits (logistic
        loss only).
    l1 : float, default=0.0
        Proximal l1 penalty of the body's weights. Weights that it sets to zero stay
        exactly zero.
    random_state : int, RandomState or None, default=0
        Seed of the initial weights and of the batches. Fits are reproducible unless it
        is None. torch's global generator is seeded for the fit and then restored; only
        one fit runs at a time in a process, also in threads.
    loss : {"logistic", "squared"}, default="logistic"
        Loss of the contrasts.
    **kwargs : dict
        Parameters of ``skorch.NeuralNet``, by default ``lr=0.003`` (which decreases
        along half a cosine), ``max_epochs=5``, ``batch_size=256``, and the optimizer
        AdamW with ``optimizer__weight_decay=0.001``; others are ``device`` and
        ``callbacks``. ``module__...`` are parameters of the body. Those of the default
        one, ``module__width`` and ``module__depth``, grow with the number n of rows:
        ``ceil(log2 n) * min(6 * n_features, 32)`` units, such as 198 for three features
        and n = 2,000, and ``round(log10 n) - 2`` layers, at least one.

    Attributes
    ----------
    module_ : torch.nn.Module
        Trained body, on the CPU.
    alpha_ : float
        Ridge penalty of the head.
    coef_ : ndarray of shape (n_columns,) or (n_columns, n_targets)
        Head: coefficients of the standardised features, then of the hidden ones.
    parametric_coef_ : ndarray of shape (n_parametric,)
        Coefficients of the parametric columns.
    converged_ : bool
        Whether the fit of the head converged.
    at_bound_ : ndarray of shape (n_parametric,)
        Parametric coefficients that lie on their bound.
    history_ : list of dict
        skorch's history: losses by epoch.

    Notes
    -----
    This is the class of networks in the paper: ReLU layers, bounded output, sparse
    weights (``l1``), depth and width that grow with the sample.

    Each fold trains its body from its own seeded initial weights, never from the body
    of the fit on all rows. Training stops before convergence, so such a start would
    depend on rows that the fold holds out. Initial weights differ between folds, so
    the cross-fit averages over them. Training starts from the exact linear fit;
    otherwise hidden features would replace the sensitivity. The head is the unique
    solution of a convex problem.

    The leave-one-out loss is exact for the squared loss, and uses one Newton step for
    the logistic one. It treats the body as fixed, although the left-out row was used to
    train it; with few epochs this matters little. If calibrator and Riesz weights have
    the same settings, the weights use the ridge that the calibrator has chosen. They
    have their own hidden features, because they must balance the part that psi misses.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import NetworkBias
    >>> from skanchor._battles import FeaturePairs
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(2, 2000, 1))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(right**2 - left**2)[:, 0])
    >>> net = NetworkBias().fit(FeaturePairs(left, right), y)  # doctest: +SKIP
    >>> bool(net.psi(np.array([[2.0]])) > net.psi(np.array([[0.0]])))  # doctest: +SKIP
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "module": [callable, None],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "bound": [Interval(Real, 0, None, closed="neither")],
        "l1": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "loss": [StrOptions({"logistic", "squared"})],
    }

    def __init__(
        self,
        module: Callable[..., Any] | None = None,
        *,
        alpha: float | str = "auto",
        bound: float = 10.0,
        l1: float = 0.0,
        random_state: Any = 0,
        loss: str = "logistic",
        **kwargs: Any,
    ):
        self.module = module
        self.alpha = alpha
        self.bound = bound
        self.l1 = l1
        self.random_state = random_state
        self.loss = loss
        self._kwargs = kwargs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, those of the parts included.

        Parameters
        ----------
        deep : bool, default=True
            Present for scikit-learn.

        Returns
        -------
        dict
        """
        return {**super().get_params(deep=False), **self._kwargs}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, such as ``module__width=64``.

        Parameters
        ----------
        **params : dict
            Parameters.

        Returns
        -------
        self
        """
        names = super().get_params(deep=False)
        further = {k: v for k, v in params.items() if k not in names}
        self._kwargs = {**self._kwargs, **further}
        super().set_params(**{k: v for k, v in params.items() if k in names})
        return self

    def _fit(self, rows: TrainingRows, start: Any) -> None:
        try:
            from skanchor.bias._torch import train_body
        except ImportError as error:
            raise ImportError(
                "NetworkBias needs torch and skorch: pip install 'skanchor[network]' "
                "(README.md tells how to get torch without CUDA)."
            ) from error
        rows, unit = rows.counted().in_units_of_targets(self.loss)
        left, right = rows.pairs.left, rows.pairs.right
        self._mean, variance = response_moments(left, right, rows.weight)
        # A scale of infinity leaves constant features out.
        self._scale = np.where(variance > 0, np.sqrt(variance), np.inf)
        pairs = FeaturePairs(self._standardised(left), self._standardised(right))
        rows = replace(rows, pairs=pairs)
        n_features = pairs.n_features
        ridge = np.full(n_features, LINEAR_RIDGE)
        linear = fit_exactly(rows, pairs.contrast, ridge, self.loss)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if self.loss == "squared":
            # Other hidden features for the weights: they balance what psi has missed.
            seed = (seed + 1) % 2**31
        self.module_, self.history_ = train_body(
            self, self._kwargs, rows, linear.coef, seed
        )
        left, right = self._columns(left), self._columns(right)
        self._centre, variance = response_moments(left, right, rows.weight)
        # The features are hardly shrunk, the hidden ones by alpha.
        fixed, shrunk = ridge * variance[:n_features], variance[n_features:]
        columns, alpha, first = left - right, self.alpha, None
        if isinstance(alpha, str):
            alpha, first = choose_ridge(rows, columns, fixed, shrunk, self.loss)
        self.alpha_, self._ridge = float(alpha), np.append(fixed, alpha * shrunk)
        fit = fit_exactly(rows, columns, self._ridge, self.loss, start=first)
        self._store(fit, rows, unit)

    def for_riesz_weights(self) -> Self:
        """Unfitted copy with the chosen ridge, for the Riesz weights of this judge.

        Returns
        -------
        NetworkBias
        """
        check_is_fitted(self, "alpha_")
        return clone(self).set_params(alpha=self.alpha_)

    def _standardised(self, features: Array) -> Array:
        return np.asarray((features - self._mean) / self._scale)

    def _columns(self, features: Array) -> Array:
        """Columns of the head: standardised features, then hidden ones."""
        from skanchor.bias._torch import body_features

        standardised = self._standardised(features)
        hidden = body_features(self.module_, standardised)
        if not np.isfinite(hidden).all():
            raise LearnerError("the network returned NaN or infinite features.")
        return np.hstack([standardised, hidden])

    def psi(self, features: Array) -> Array:
        """Bias of single responses.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            Bias in judge logits, about its mean over the responses of the fit.
        """
        values = super().psi(features) - self._centre @ self.coef_
        return (
            np.clip(values, -self.bound, self.bound)
            if self.loss == "logistic"
            else values
        )


def choose_ridge(
    rows: TrainingRows, columns: Array, fixed: Array, shrunk: Array, loss: str
) -> tuple[float, Array]:
    """Choose the largest ridge with a leave-one-out loss within an error of the least.

    Parameters
    ----------
    rows : TrainingRows
        What the head is fitted on.
    columns : ndarray of shape (n_rows, n_columns)
        Contrasts of the features, then of the hidden ones.
    fixed, shrunk : ndarray
        Penalty of the features; penalty of the hidden ones per unit of ridge.
    loss : {"logistic", "squared"}
        Loss of the contrasts.

    Returns
    -------
    alpha : float
    start : ndarray
        Coefficients about the solution.
    """
    design, y, weight = np.hstack([rows.parametric, columns]), rows.y, rows.weight
    if loss == "logistic":
        ridge = np.append(fixed, PILOT_ALPHA * shrunk)
        pilot = fit_exactly(rows, columns, ridge, loss, tolerance=PILOT_TOLERANCE)
        # One step of iteratively reweighted least squares: the weights are w V, and the
        # working response is eta + (y - p) / V. So the leave-one-out fits of every
        # ridge are those of weighted least squares.
        eta = design @ pilot.coef
        mean = sigmoid(eta)
        curvature = np.maximum(mean * (1.0 - mean), LEAST_CURVATURE)
        y, weight = eta + (y - mean) / curvature, weight * curvature[:, 0]
    fixed = np.append(np.zeros(rows.parametric.shape[1]), fixed)
    alphas = np.geomspace(LARGEST_ALPHA, LEAST_ROWS / len(rows), N_ALPHAS)
    weighted, least = design * weight[:, None], alphas[-1]
    gram = weighted.T @ design + np.diag(np.append(fixed, least * shrunk))
    # Columns that are constant, or repeat others, must not make it singular.
    gram[np.diag_indices_from(gram)] += 1e-18 * np.diag(gram).max()
    # V with V' gram V = I and V' penalty V = diag(values) inverts the information of
    # every ridge: V / (1 + (alpha - least) values) V'.
    values, vectors = eigh(np.diag(np.append(0.0 * fixed, shrunk)), gram)
    shrink = 1.0 / (1.0 + np.outer(alphas - least, np.maximum(values, 0.0)))
    rotated, slope = design @ vectors, vectors.T @ (weighted.T @ y)
    leverage = np.minimum(weight * (shrink @ rotated.T**2), FULL_LEVERAGE)
    coefs = shrink[:, :, None] * slope
    # The residual without the row is (y - fitted) / (1 - leverage).
    predictions = y - (y - rotated @ coefs) / (1.0 - leverage)[:, :, None]
    terms = loss_terms(loss, rows.y, predictions)
    chosen, _, _ = simplest_within_error(terms.sum(axis=2).T, rows.weight)
    return float(alphas[chosen]), vectors @ coefs[chosen]
