use crate::Row;
pub(crate) const ROWS: &[Row] = &[];
