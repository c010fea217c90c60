"""scikit-learn's checks that no generator yields, to be called by hand."""

from sklearn.utils import estimator_checks

# Called by scikit-learn's own tests; the last one came with version 1.9.
OF_ROWS_OF_NUMBERS = [
    getattr(estimator_checks, name)
    for name in (
        "check_param_validation",
        "check_dataframe_column_names_consistency",
        "check_inplace_ensure_writeable",
        "check_all_zero_sample_weights_error",
    )
    if hasattr(estimator_checks, name)
]
# Yielded for estimators that read tables of numbers, although they need no table.
OF_ANY = [
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_mixin_order,
]
