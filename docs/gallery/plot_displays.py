"""
A result in pictures
====================

This page shows all displays of ``skanchor.plotting`` on the bundled table. They follow
scikit-learn's: ``from_estimator`` draws a fitted estimator, ``from_result`` its result,
and ``ax_`` has the axes, which you can change. They need matplotlib,
``pip install 'skanchor[plot]'``.
"""

# %%
# Scores and ranks
# ----------------
# Eight models have votes, two are new. Scores may be shown in Elo points. Here they are
# measured from one model, whose own score is then exact. Each interval contains the
# score of its own model with 95 % confidence. The rank sets on the right hold jointly
# with 95 % confidence. So two sets that do not overlap prove an order.
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
# Against every other model
# -------------------------
# Filled marks are differences whose sign is proven, jointly for all of them. The upper
# axis says how often people would prefer the new model.
from skanchor.plotting import ContrastDisplay

contrasts = ContrastDisplay.from_estimator(anchor, "ivory-lynx")
print(f"{contrasts.decided.sum()} of {len(contrasts.decided)} are decided")

# %%
# What further rows would gain
# ----------------------------
# The half width of an interval against the cost of further rows, if they are chosen by
# the best design, and if they are spread evenly.
from skanchor.plotting import CostDisplay

cost = CostDisplay.from_estimator(anchor, 40, {"human": 1.0, "judges": 0.05})
print(cost.table.round(3))

# %%
# The judges
# ----------
# How sensitive the judges are, which side they favour, which kinds of responses they
# like, and which models they like beyond score and features.
from skanchor.plotting import BiasDisplay, ItemDeviationDisplay, JudgeDisplay

judges = JudgeDisplay.from_estimator(anchor)
biases = BiasDisplay.from_estimator(anchor)
deviations = ItemDeviationDisplay.from_estimator(anchor)
print(judges.judges.round(2))

# %%
# Before you rely on this
# -----------------------
# Are the judges' verdicts as frequent as the fit predicts? Each verdict is turned so
# that the response predicted to be preferred comes first.
from skanchor.plotting import JudgeCalibrationDisplay

calibration = JudgeCalibrationDisplay.from_estimator(anchor)

# %%
# The last display treats each model with votes in turn as if it were new. If the
# intervals hold, the score by judges agrees with the score by votes for about 95 % of
# the models.
from skanchor.evaluation import leave_one_model_out
from skanchor.plotting import LeftOutDisplay

table = leave_one_model_out(anchor, X, y)
left_out = LeftOutDisplay.from_result(table)
print(left_out.ax_.get_title())

# %%
# Several plots in one figure
# ---------------------------
# ``plot`` draws again on axes of your own.
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
board.plot(left)
contrasts.plot(right)
