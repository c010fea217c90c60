"""
A result in pictures
====================

Where does the new model stand, how sure is that, and what does it rest on? Every
display of ``skanchor.plotting`` is made from a fitted estimator, or from its result, in
scikit-learn's manner: ``from_estimator`` draws, and the axes are at ``ax_`` (or
``axes_``) to be changed. This page goes through them on the bundled table. It needs
matplotlib, ``pip install 'skanchor[plot]'``.
"""

# %%
# Where it stands
# ---------------
# Eight models have votes, two are new. Scores may be shown in Elo points, here measured
# from one model, whose own score is then exact. Each interval stands on its own.
from skanchor import AnchorPipeline
from skanchor.datasets import load_demo
from skanchor.plotting import LeaderboardDisplay

X, y = load_demo(return_X_y=True)
anchor = AnchorPipeline(cv=3, item_effects="random", random_state=0).fit(X, y)
board = LeaderboardDisplay.from_estimator(
    anchor, scale="elo", anchor={"early-moth": 1000}
)
print(board.board[["score", "low", "high"]].round(0))

# %%
# Which places are possible? All strips hold together with probability .95, so that two
# that do not overlap prove an order.
from skanchor.plotting import RankSetDisplay

ranks = RankSetDisplay.from_estimator(anchor)

# %%
# Against every other model
# -------------------------
# Filled marks are differences whose sign is proven, all of them together; the upper
# axis says how often people would prefer the new model.
from skanchor.plotting import ContrastDisplay

contrasts = ContrastDisplay.from_estimator(anchor, "ivory-lynx")
print(f"{contrasts.decided.sum()} of {len(contrasts.decided)} are decided")

# %%
# What would undo this
# --------------------
# A favour that no column records looks like a better model. The interval widens with
# the favour that it allows for; dotted lines are sizes that the data record.
from skanchor.plotting import FunnelDisplay

funnel = FunnelDisplay.from_estimator(anchor, "ivory-lynx")
print(f"in doubt from a favour of {funnel.breakdown:.2f} judge logits")

# %%
# How few rows hold a difference up
# ---------------------------------
# The difference as rows are dropped, those first that hold it up most: with weights
# solved anew, and in refits without these rows.
from skanchor.plotting import DropPathDisplay

path = DropPathDisplay.from_estimator(anchor, X, y, "ivory-lynx")
print(f"{path.number:.0f} rows hold up what is said of", *path.names)

# %%
# What money buys
# ---------------
# The half width of an interval against the cost of further rows: of the best
# allocation, and of rows dealt evenly.
from skanchor.plotting import CostDisplay

cost = CostDisplay.from_estimator(anchor, 40, {"human": 1.0, "judges": 0.05})
print(cost.table.round(3))

# %%
# What the judges are like
# ------------------------
# How sharply they tell models apart, which side they favour, which kinds of responses
# they like, and which models, beyond all that.
from skanchor.plotting import BiasDisplay, ItemDeviationDisplay, JudgeDisplay

judges = JudgeDisplay.from_estimator(anchor)
biases = BiasDisplay.from_estimator(anchor)
deviations = ItemDeviationDisplay.from_estimator(anchor)
print(judges.judges.round(2))

# %%
# Before you rely on this
# -----------------------
# What the error is made of, and the part of it that only votes can lower; whether the
# judges answer as often as the fit says; whether the new models' responses are like
# those on which the judges were calibrated.
from skanchor.plotting import (
    FeatureOverlapDisplay,
    JudgeCalibrationDisplay,
    VarianceDisplay,
)

variance = VarianceDisplay.from_estimator(anchor)
calibration = JudgeCalibrationDisplay.from_estimator(anchor)
overlap = FeatureOverlapDisplay.from_estimator(anchor)

# %%
# The hardest question comes last: each model with votes is treated as if it were new. A
# sound method reconciles score and votes for about 95 % of them.
from skanchor.evaluation import leave_one_model_out
from skanchor.plotting import LeftOutDisplay

table = leave_one_model_out(anchor, X, y)
left_out = LeftOutDisplay.from_result(table)
print(left_out.ax_.get_title())

# %%
# A page of one's own
# -------------------
# ``plot`` draws again on axes that are given.
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
board.plot(left)
contrasts.plot(right)
