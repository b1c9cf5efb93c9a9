package main

import (
	"encoding/json"
	"slices"
)

func (w where) apply(rows []row) ([]row, error) {
	kept := []row{}
	for _, row := range rows {
		is, err := w.keeps.of(row)
		if err != nil {
			return nil, err
		}
		if truth(is) {
			kept = append(kept, row)
		}
	}
	return kept, nil
}

func (s selection) apply(rows []row) ([]row, error) {
	made := []row{}
	for _, from := range rows {
		var to row
		for _, item := range s.items {
			value, err := item.value.of(from)
			if err != nil {
				return nil, err
			}
			to.set(item.as, value)
		}
		made = append(made, to)
	}
	return made, nil
}

func (l limit) apply(rows []row) ([]row, error) { return rows[:min(l.most, len(rows))], nil }

func (s sorting) apply(rows []row) ([]row, error) {
	type keyed struct {
		row  row
		keys []value
	}
	var all []keyed
	for _, row := range rows {
		one := keyed{row: row}
		for _, key := range s.keys {
			value, err := key.value.of(row)
			if err != nil {
				return nil, err
			}
			one.keys = append(one.keys, value)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		for i, key := range s.keys {
			if order := compare(a.keys[i], b.keys[i]); order != 0 {
				if key.down {
					return -order
				}
				return order
			}
		}
		return 0
	})
	sorted := []row{}
	for _, one := range all {
		sorted = append(sorted, one.row)
	}
	return sorted, nil
}

// Groups are in the order in which they first come.
func (g grouping) apply(rows []row) ([]row, error) {
	members := map[string][]row{}
	heads := []row{}
	var keys []string
	for _, from := range rows {
		var head row
		for _, column := range g.by {
			value, err := field(column).of(from)
			if err != nil {
				return nil, err
			}
			head.set(column, value)
		}
		text, err := json.Marshal(head.values)
		if err != nil {
			return nil, err
		}
		key := string(text)
		if members[key] == nil {
			heads, keys = append(heads, head), append(keys, key)
		}
		members[key] = append(members[key], from)
	}
	for i := range heads {
		for _, aggregate := range g.aggregates {
			value, err := aggregate.over(members[keys[i]])
			if err != nil {
				return nil, err
			}
			heads[i].set(aggregate.as, value)
		}
	}
	return heads, nil
}

// The aggregate over the rows in which there is a value.
func (a aggregate) over(rows []row) (value, error) {
	if a.of == nil {
		return len(rows), nil
	}
	var found []value
	sum := 0.0
	for _, row := range rows {
		value, err := a.of.of(row)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		found = append(found, value)
		if a.function == "sum" || a.function == "mean" {
			n, err := asNumber(value, a.function)
			if err != nil {
				return nil, err
			}
			sum += n
		}
	}
	switch {
	case a.function == "count":
		return len(found), nil
	case a.function == "sum":
		return sum, nil
	case len(found) == 0:
		return nil, nil
	case a.function == "mean":
		return sum / float64(len(found)), nil
	case a.function == "min":
		return slices.MinFunc(found, compare), nil
	default:
		return slices.MaxFunc(found, compare), nil
	}
}
