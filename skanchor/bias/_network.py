"""Bias learned by networks in torch, trained with skorch."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._numerics.linalg import Columns, SymmetricSolver
from skanchor._numerics.logistic import (
    LogisticFit,
    fit_logistic,
    log_loss_terms,
    sigmoid,
)
from skanchor._numerics.ridge import RidgePath
from skanchor.bias._network_head import simplest_within_error
from skanchor.bias._rows import enter_pairs
from skanchor.bias.fitting import FitTask
from skanchor.bias.protocol import ContrastMixin, LastStage
from skanchor.comparisons import FeaturePairs
from skanchor.exceptions import LearnerError

__all__ = ["NetworkBias"]

Array = NDArray[np.float64]

LINEAR_RIDGE = 1e-4
"""Ridge of the linear part of the head, whatever that of the hidden features."""

LARGEST_ALPHA, N_ALPHAS = 1e3, 13
"""First ridge and length of the path that ``alpha="auto"`` chooses from."""

LEAST_ROWS = 20.0
"""Rows that the least ridge of the path is worth. Where responses recur from row to
row, a row left out is not new, and its loss favours too small a ridge."""

PILOT_ALPHA, PILOT_TOL = 0.1, 1e-2
"""Ridge and tolerance of the fit about which the leave-one-out losses are taken."""

FLAT = 1e-6
"""Least curvature of a row in them."""

PREFIXES = ("module__", "optimizer__")


@dataclass(frozen=True, slots=True)
class _Task:
    """A problem, standardised and without rows of weight zero; weights sum to one."""

    pairs: FeaturePairs
    y: Array
    weight: Array
    parametric: Array
    lower: Array
    upper: Array


class NetworkBias(ContrastMixin, BaseEstimator):
    """Bias as a network, the same for both responses.

    ``psi(x) = b' (x, body(x))``: a body of hidden layers, trained by stochastic
    gradients together with the parametric columns, and a linear head on its features
    and on the standardised features themselves. Once the body is trained, head and
    parametric coefficients are fitted exactly, as in :class:`LinearBias`. This also
    makes the bounds of the sensitivity hold exactly.

    Parameters
    ----------
    module : callable, optional
        Class of the body, called as ``module(n_features, **module__...)``; a torch
        module that maps (n_rows, n_features) to (n_rows, width), row by row. None is a
        stack of linear layers with ReLU units, those of the first layer starting from
        one, two or all features in turn.
    width, depth : int, optional
        Size of the default body; None grows with the number n of rows: ``ceil(log2
        n)`` units for each of six times the features, at most 32 (198 units for three
        features at n = 2,000), in ``round(log10 n) - 2`` layers, at least one.
    alpha : float or "auto", default="auto"
        Ridge penalty of the head, as in :class:`LinearBias`: half the squared norm of
        the coefficients of standardised hidden features, beside the mean weighted loss.
        ``"auto"`` takes the largest of a path from 1,000 to 20 / n whose leave-one-out
        loss is within one standard error of the least, so that a bias without
        curvature is fitted as a linear one. The linear part is hardly shrunk.
    bound : float, default=10.0
        psi is clipped to ``[-bound, bound]`` about its mean, in judge logits (logistic
        loss only).
    l1 : float, default=0.0
        Proximal l1 penalty of the body's weights; those it makes zero stay exactly
        zero.
    weight_decay : float, default=0.001
        Decoupled weight decay of the optimizer.
    lr : float, default=0.003
        First learning rate, lowered along half a cosine.
    max_epochs : int, default=5
        Most passes over the rows.
    batch_size : int, default=256
        Rows of each gradient step; -1 is all of them.
    validation_fraction : float, default=0.0
        Share of the rows whose loss decides which epoch's body is kept; zero trains
        for all epochs. The head is fitted on all rows.
    patience : int, default=10
        Epochs without a better validation loss after which training stops.
    optimizer : {"adamw"} or torch optimizer class, default="adamw"
        Optimizer; ``optimizer__...`` are its parameters.
    callbacks : sequence, optional
        Further skorch callbacks.
    device : str, default="cpu"
        Where the body is trained, such as ``"cuda"``; predictions run on the CPU.
    random_state : int, RandomState or None, default=0
        Seed of the first weights and of the batches. Fits are reproducible unless it
        is None; torch's global generator is left alone.
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
    n_epochs_ : int
        Epoch whose body was kept.
    history_ : list of dict
        Training losses by epoch; of the whole stack where several fits were trained
        together.

    Notes
    -----
    The paper's class: ReLU layers, bounded output, sparse weights (``l1``), depth and
    width that grow with the sample. The body of a fold starts from seeded weights of
    its own, never from the fit on all rows: a body that stops before convergence
    remembers its start, and with it the rows that the fold holds out; and other weights
    in every fold average out what is their luck. Training starts from the exact linear
    fit, so that hidden features need not stand in for the sensitivity. The head is the
    unique solution of a convex problem.

    The leave-one-out loss is exact for the squared loss, and that of the last Newton
    step for the logistic one; it takes the body as given, which is near the truth for a
    body that is trained little. Where calibrator and Riesz weights have the same
    settings, the weights take the ridge that the calibrator has chosen, and hidden
    features of their own: they balance what psi has missed.

    Fits of equal settings (the judges, and the inner folds of the Riesz step) are
    trained together in one batched module: n is then the rows of the largest, and the
    batches are drawn for all at once.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import NetworkBias
    >>> from skanchor.comparisons import FeaturePairs
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
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "optimizer": [StrOptions({"adamw"}), callable],
        "callbacks": ["array-like", None],
        "device": [str],
        "random_state": ["random_state"],
        "loss": [StrOptions({"logistic", "squared"})],
    }
    # A stack shares its bodies' settings; each fit has its own head.
    unshared_params: ClassVar = ("alpha",)

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
        validation_fraction: float = 0.0,
        patience: int = 10,
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
        self.validation_fraction = validation_fraction
        self.patience = patience
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

    # ----------------------------------------------------------------------------- fit
    def fit(
        self,
        X: FeaturePairs,
        y: Array,
        sample_weight: Array | None = None,
        *,
        parametric: Array | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        start: NetworkBias | None = None,
    ) -> Self:
        """Fit the network; see :class:`skanchor.bias.BiasLearner`.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.
        y : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Outcomes in [0, 1] (logistic) or targets (squared).
        sample_weight : ndarray of shape (n_rows,), optional
            Row weights.
        parametric : ndarray of shape (n_rows, n_parametric), optional
            Further columns, fitted jointly (logistic loss only).
        bounds : (low, high), optional
            Bounds of their coefficients, for all or for each.
        start : ignored
            Every training set has a body of its own.

        Returns
        -------
        self
        """
        self.fit_many([self], [FitTask(X, y, sample_weight, parametric, bounds, start)])
        return self

    @classmethod
    def fit_many(
        cls, learners: Sequence[NetworkBias], problems: Sequence[FitTask]
    ) -> None:
        """Fit several learners of equal settings, their bodies trained together.

        Parameters
        ----------
        learners : sequence of NetworkBias
            Unfitted, one for each problem.
        problems : sequence of FitTask
            What each would be fitted on.
        """
        tasks = [
            learner._prepare(problem)
            for learner, problem in zip(learners, problems, strict=True)
        ]
        learners[0]._train(learners, tasks)
        for number, (learner, task) in enumerate(zip(learners, tasks, strict=True)):
            try:
                learner._fit_head(task)
            except LearnerError as error:
                raise LearnerError(str(error), problem=number) from error

    def _prepare(self, problem: FitTask) -> _Task:
        """Validate and standardise, and keep the rows of positive weight."""
        self._validate_params()
        for name in self._kwargs:
            if not name.startswith(PREFIXES):
                raise TypeError(
                    f"NetworkBias has no parameter {name!r}; parameters of its parts "
                    f"begin with one of {list(PREFIXES)}."
                )
        pairs, y, weight = enter_pairs(
            self, problem.X, problem.y, problem.sample_weight
        )
        used = np.flatnonzero(weight > 0)
        parametric = problem.parametric
        parametric = np.empty((len(pairs), 0)) if parametric is None else parametric
        pairs, y, weight = pairs[used], y[used], weight[used]
        share = weight / (2.0 * weight.sum())
        self._mean = share @ pairs.left + share @ pairs.right
        variance = share @ (pairs.left - self._mean) ** 2
        variance += share @ (pairs.right - self._mean) ** 2
        # Constant features say nothing: they are left out by a scale of infinity.
        tiny = 1e-10 * (1.0 + np.abs(self._mean))
        deviation = np.sqrt(variance)
        self._scale = np.where(deviation > tiny, deviation, np.inf)
        n_parametric = parametric.shape[1]
        bounds = (-np.inf, np.inf) if problem.bounds is None else problem.bounds
        lower, upper = (np.broadcast_to(b, n_parametric).astype(float) for b in bounds)
        return _Task(
            FeaturePairs(self._standardise(pairs.left), self._standardise(pairs.right)),
            y,
            weight / weight.sum(),
            parametric[used],
            lower,
            upper,
        )

    def _standardise(self, features: Array) -> Array:
        return np.asarray((features - self._mean) / self._scale)

    def _options(self) -> tuple[Any, dict[str, Any]]:
        import torch

        optimizer = self.optimizer
        options: dict[str, Any] = {}
        if optimizer == "adamw":
            optimizer = torch.optim.AdamW
        if "weight_decay" in inspect.signature(optimizer).parameters:
            options["optimizer__weight_decay"] = self.weight_decay
        options |= {
            k: v for k, v in self._kwargs.items() if k.startswith("optimizer__")
        }
        return optimizer, options

    def _body(self, n_features: int, n_rows: int) -> Any:
        from skanchor.bias._torch import ReLUBody

        given = {k[8:]: v for k, v in self._kwargs.items() if k.startswith("module__")}
        if self.module is not None:
            return self.module(n_features, **given)
        grown = math.ceil(math.log2(max(n_rows, 2))) * min(6 * n_features, 32)
        width = self.width or grown
        depth = self.depth or max(1, round(math.log10(n_rows)) - 2)
        return ReLUBody(n_features, **{"width": width, "depth": depth, **given})

    def _train(self, learners: Sequence[NetworkBias], tasks: Sequence[_Task]) -> None:
        try:
            from skanchor.bias import _torch
        except ImportError as error:
            raise ImportError(
                "NetworkBias needs torch and skorch: pip install 'skanchor[network]' "
                "(README.md tells how to get torch without CUDA)."
            ) from error
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n = max(len(task.weight) for task in tasks)
        n_features = tasks[0].pairs.left.shape[1]
        logistic = self.loss == "logistic"
        if not logistic:
            # Other hidden features for the weights: they balance what psi has missed.
            seed = (seed + 1) % 2**31

        def train() -> tuple[list[Any], Any, Any]:
            bodies = []
            for _ in tasks:
                # Equal first weights, as for the head.
                _torch.seed(seed)
                bodies.append(self._body(n_features, n))
            width = _torch.check_body(bodies[0], tasks[0].pairs.left[:16])
            if self.max_epochs == 0:
                return bodies, [], np.zeros(len(tasks), dtype=np.intp)
            optimizer, options = self._options()
            _torch.seed(seed)
            return _torch.train_stack(
                bodies,
                width,
                self._pad(tasks, n, seed),
                logistic=logistic,
                max_epochs=self.max_epochs,
                batch_size=n if self.batch_size == -1 else min(self.batch_size, n),
                lr=self.lr,
                l1=self.l1,
                patience=self.patience if self.validation_fraction else None,
                device=self.device,
                optimizer=optimizer,
                options=options,
                callbacks=self.callbacks or (),
            )

        bodies, history, epochs = _torch.forked(seed, train)
        for learner, body, kept in zip(learners, bodies, epochs, strict=True):
            learner.module_, learner.history_ = body, history
            learner.n_epochs_ = int(kept)

    def _pad(self, tasks: Sequence[_Task], n: int, seed: int) -> Any:
        from skanchor.bias._torch import StackData

        def padded(rows: Sequence[Array]) -> Array:
            out = np.zeros((len(rows), n, *rows[0].shape[1:]))
            for s, values in enumerate(rows):
                out[s, : len(values)] = values
            return out

        weights, valid, targets, skips, coefs = [], [], [], [], []
        for task in tasks:
            y = task.y.reshape(len(task.y), -1)
            if self.loss == "squared":
                y = _unit_targets(y, task.weight)
            targets.append(y)
            skip, coef = self._first(task, y)
            skips.append(skip)
            coefs.append(coef)
            held = np.zeros(len(y), dtype=bool)
            size = round(self.validation_fraction * len(y))
            held[np.random.default_rng(seed).permutation(len(y))[:size]] = True
            inside = np.where(held, 0.0, task.weight)
            outside = np.where(held, task.weight, 0.0)
            weights.append(inside * (n / inside.sum()))
            valid.append(outside / max(outside.sum(), 1e-300))
        return StackData(
            padded([task.pairs.left for task in tasks]),
            padded([task.pairs.right for task in tasks]),
            padded([task.parametric for task in tasks]),
            padded(targets),
            padded(weights),
            padded(valid),
            np.stack([task.lower for task in tasks]),
            np.stack([task.upper for task in tasks]),
            np.stack(skips),
            np.stack(coefs),
        )

    def _first(self, task: _Task, y: Array) -> tuple[Array, Array]:
        """Linear fit that all starts from: coefficients, parametric ones."""
        span, weight = task.pairs.contrast, task.weight
        penalty = np.full(span.shape[1], LINEAR_RIDGE)
        if self.loss == "squared":
            return _least_squares(span, y, weight, penalty), np.empty(0)
        fit = _logistic(task, span, penalty)
        n_parametric = task.parametric.shape[1]
        return fit.coef[n_parametric:, None], fit.coef[:n_parametric]

    def _fit_head(self, task: _Task) -> None:
        """Fit the linear head and the parametric columns exactly."""
        left, right = self._columns(task.pairs.left), self._columns(task.pairs.right)
        span, weight = left - right, task.weight
        self._centre = (weight @ left + weight @ right) / 2.0
        variance = weight @ (left - self._centre) ** 2
        variance = (variance + weight @ (right - self._centre) ** 2) / 2.0
        n_features, n_parametric = task.pairs.n_features, task.parametric.shape[1]
        linear, hidden = LINEAR_RIDGE * variance[:n_features], variance[n_features:]
        automatic = isinstance(self.alpha, str)
        self.alpha_ = PILOT_ALPHA if automatic else float(self.alpha)

        def penalty() -> Array:
            return np.concatenate([linear, self.alpha_ * hidden])

        if self.loss == "squared":
            if automatic:
                y = _unit_targets(task.y.reshape(len(task.y), -1), weight)
                path = RidgePath.of(span, linear, hidden, weight, y)
                self.alpha_ = _choose(
                    path, lambda out: weight * np.sum((y - out) ** 2, axis=1)
                )
            self.coef_ = _least_squares(span, task.y, weight, penalty())
            self.parametric_coef_ = np.empty(0)
            self.at_bound_ = np.zeros(0, dtype=bool)
            self.converged_ = True
            return
        first, coef = self._first(task, task.y)
        start = np.concatenate([coef, first[:, 0], np.zeros(len(hidden))])
        if automatic:
            # Leave one out of the quadratic about a fit with a middling ridge.
            pilot = _logistic(task, span, penalty(), start, tol=PILOT_TOL)
            design = np.hstack([task.parametric, span])
            eta = design @ pilot.coef
            mean = sigmoid(eta)
            curvature = np.maximum(mean * (1.0 - mean), FLAT)
            response = eta + (task.y - mean) / curvature
            free = np.concatenate([np.zeros(n_parametric), linear])
            path = RidgePath.of(
                design, free, hidden, weight * curvature, response[:, None]
            )
            self.alpha_ = _choose(
                path, lambda out: weight * log_loss_terms(task.y, out[:, 0])
            )
            start = path.solution(self.alpha_)[:, 0]
        fit = _logistic(task, span, penalty(), start)
        self._ridge = penalty()
        self.parametric_coef_ = fit.coef[:n_parametric]
        self.coef_ = fit.coef[n_parametric:]
        self.converged_ = fit.converged
        self.at_bound_ = fit.at_bound[:n_parametric]

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
        left, right = (
            self._columns(self._standardise(side)) for side in (pairs.left, pairs.right)
        )
        return LastStage(left - right, self._ridge, self.coef_)

    def settled(self) -> Self:
        """Unfitted copy with the chosen ridge, for a second problem of this judge.

        Returns
        -------
        NetworkBias
        """
        check_is_fitted(self, "alpha_")
        return clone(self).set_params(alpha=self.alpha_)

    def _columns(self, standardised: Array) -> Array:
        from skanchor.bias._torch import body_features

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
        columns = self._columns(self._standardise(features)) - self._centre
        result: Array = columns @ self.coef_
        if self.loss == "logistic":
            result = np.clip(result, -self.bound, self.bound)
        return result


def _choose(path: RidgePath, loss: Callable[[Array], Array]) -> float:
    """Largest ridge whose loss, each row left out, is near the least of the path."""
    alphas = np.geomspace(LARGEST_ALPHA, LEAST_ROWS / len(path.y), N_ALPHAS)
    terms = [loss(out) for out in path.left_out(alphas)]
    return float(alphas[simplest_within_error(np.column_stack(terms))])


def _unit_targets(y: Array, weight: Array) -> Array:
    """Every target counts alike, whatever its unit."""
    scale = np.sqrt(weight @ y**2)
    return np.divide(y, scale, out=np.zeros_like(y), where=scale > 0)


def _least_squares(span: Array, y: Array, weight: Array, penalty: Array) -> Array:
    weighted = span * weight[:, None]
    gram = weighted.T @ span + np.diag(penalty)
    return SymmetricSolver.factorise(gram).solve(weighted.T @ y)


def _logistic(
    task: _Task,
    span: Array,
    penalty: Array,
    start: Array | None = None,
    **options: Any,
) -> LogisticFit:
    n_parametric, n_span = task.parametric.shape[1], span.shape[1]
    return fit_logistic(
        Columns(task.parametric, span),
        task.y,
        task.weight,
        penalty=np.concatenate([np.zeros(n_parametric), penalty]),
        lower=np.concatenate([task.lower, np.full(n_span, -np.inf)]),
        upper=np.concatenate([task.upper, np.full(n_span, np.inf)]),
        start=start,
        **options,
    )
