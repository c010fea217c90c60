"""The four stages of the pipeline as estimators, thin over the model."""
