module echo

go 1.27

require wharf-plugin v0.0.0

replace wharf-plugin => ./wharf
