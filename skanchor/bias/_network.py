"""Bias learned by networks in torch, trained with skorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import FeaturePairs
from skanchor._typing import Array
from skanchor.bias._head import fit_head, head_ridge
from skanchor.bias._learner import PairsLearner
from skanchor.bias._rows import TrainingRows, is_constant, response_moments
from skanchor.bias.protocol import LastStage
from skanchor.exceptions import LearnerError

PREFIXES = ("module__", "optimizer__")


class NetworkBias(PairsLearner):
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
    width, depth : int, optional
        Size of the default body. None means a size that grows with the number n of
        rows. The width is ``ceil(log2 n) * min(6 * n_features, 32)``, such as 198 units
        for three features and n = 2,000. The depth is ``round(log10 n) - 2`` layers,
        at least one.
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
    weight_decay : float, default=0.001
        Decoupled weight decay of the default optimizer; others take
        ``optimizer__weight_decay``.
    lr : float, default=0.003
        Initial learning rate, which decreases along half a cosine.
    max_epochs : int, default=5
        Largest number of passes over the rows.
    batch_size : int, default=256
        Rows of each gradient step; -1 is all of them.
    optimizer : {"adamw"} or torch optimizer class, default="adamw"
        Optimizer; ``optimizer__...`` are its parameters.
    callbacks : sequence, optional
        Further skorch callbacks.
    device : str, default="cpu"
        Where the body is trained, such as ``"cuda"``; predictions run on the CPU.
    random_state : int, RandomState or None, default=0
        Seed of the initial weights and of the batches. Fits are reproducible unless it
        is None, also in threads. They do not use torch's global generator, except fits
        with your own ``module``, ``optimizer`` or ``callbacks``: for these it is seeded
        and then restored, and only one such fit runs at a time.
    loss : {"logistic", "squared"}, default="logistic"
        Loss of the contrasts.
    **kwargs : dict
        ``module__...`` and ``optimizer__...`` parameters, as in skorch.

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
        "width": [Interval(Integral, 1, None, closed="left"), None],
        "depth": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "bound": [Interval(Real, 0, None, closed="neither")],
        "l1": [Interval(Real, 0, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 0, None, closed="left")],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            Options(Integral, {-1}),
        ],
        "optimizer": [StrOptions({"adamw"}), callable],
        "callbacks": ["array-like", None],
        "device": [str],
        "random_state": ["random_state"],
        "loss": [StrOptions({"logistic", "squared"})],
    }

    def __init__(
        self,
        module: Callable[..., Any] | None = None,
        *,
        width: int | None = None,
        depth: int | None = None,
        alpha: float | str = "auto",
        bound: float = 10.0,
        l1: float = 0.0,
        weight_decay: float = 0.001,
        lr: float = 0.003,
        max_epochs: int = 5,
        batch_size: int = 256,
        optimizer: Any = "adamw",
        callbacks: Sequence[Any] | None = None,
        device: str = "cpu",
        random_state: Any = 0,
        loss: str = "logistic",
        **kwargs: Any,
    ):
        self.module = module
        self.width = width
        self.depth = depth
        self.alpha = alpha
        self.bound = bound
        self.l1 = l1
        self.weight_decay = weight_decay
        self.lr = lr
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.callbacks = callbacks
        self.device = device
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
        parts = {k: v for k, v in params.items() if k.startswith(PREFIXES)}
        self._kwargs = {**self._kwargs, **parts}
        super().set_params(**{k: v for k, v in params.items() if k not in parts})
        return self

    def _fit(self, rows: TrainingRows, start: Any) -> None:
        for name in self._kwargs:
            if not name.startswith(PREFIXES):
                raise TypeError(
                    f"NetworkBias has no parameter {name!r}; parameters of its parts "
                    f"begin with one of {list(PREFIXES)}."
                )
        try:
            from skanchor.bias._torch import train_body
        except ImportError as error:
            raise ImportError(
                "NetworkBias needs torch and skorch: pip install 'skanchor[network]' "
                "(README.md tells how to get torch without CUDA)."
            ) from error
        rows = rows.counted()
        left, right = rows.pairs.left, rows.pairs.right
        self._mean, variance = response_moments(left, right, rows.weight)
        # A scale of infinity leaves constant features out.
        constant = is_constant(self._mean, variance)
        self._scale = np.where(constant, np.inf, np.sqrt(variance))
        pairs = FeaturePairs(self._standardised(left), self._standardised(right))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if self.loss == "squared":
            # Other hidden features for the weights: they balance what psi has missed.
            seed = (seed + 1) % 2**31
        standardised = replace(rows, pairs=pairs)
        self.module_, self.history_ = train_body(self, standardised, seed)
        left, right = self._columns(left), self._columns(right)
        self._centre, variance = response_moments(left, right, rows.weight)
        self.alpha_, fit = fit_head(rows, left - right, variance, self.alpha, self.loss)
        self._ridge = head_ridge(variance, rows.pairs.n_features, self.alpha_)
        self._store(fit)

    def last_stage(self, pairs: FeaturePairs, sample_weight: Array) -> LastStage:
        """Head, which is linear in its coefficients.

        Parameters
        ----------
        pairs : FeaturePairs
            Features of the two responses.
        sample_weight : ignored
            The penalty is that of the fit.

        Returns
        -------
        LastStage
        """
        check_is_fitted(self, "coef_")
        columns = self._columns(pairs.left) - self._columns(pairs.right)
        return LastStage(columns, self._ridge, self.coef_)

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
        check_is_fitted(self, "coef_")
        result: Array = (self._columns(features) - self._centre) @ self.coef_
        if self.loss == "logistic":
            result = np.clip(result, -self.bound, self.bound)
        return result
