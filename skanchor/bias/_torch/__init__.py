"""Networks in torch, trained with skorch; only this folder imports the two.

Learners import it where they fit.
"""
