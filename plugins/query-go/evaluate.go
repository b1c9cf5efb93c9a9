package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A value is nil, a bool, a string, a float64, or a json.Number, []any or map as it came:
// what is only passed on keeps its digits.
type value = any

func (f field) of(row row) (value, error) {
	if found, is := row.get(string(f)); is {
		return found, nil
	}
	// A path into an object, if no column is called so.
	first, rest, _ := strings.Cut(string(f), ".")
	inside, _ := row.get(first)
	for rest != "" {
		object, is := inside.(map[string]any)
		if !is {
			return nil, nil
		}
		first, rest, _ = strings.Cut(rest, ".")
		inside = object[first]
	}
	return inside, nil
}

func (c constant) of(row) (value, error) { return c.value, nil }

func (u unary) of(row row) (value, error) {
	operand, err := u.operand.of(row)
	if err != nil || operand == nil {
		return nil, err
	}
	if u.operator == "not" {
		return !truth(operand), nil
	}
	n, err := asNumber(operand, "-")
	return -n, err
}

func (b binary) of(row row) (value, error) {
	left, err := b.left.of(row)
	if err != nil {
		return nil, err
	}
	switch b.operator {
	case "and", "or":
		if truth(left) == (b.operator == "or") {
			return truth(left), nil
		}
		right, err := b.right.of(row)
		return truth(right), err
	}
	right, err := b.right.of(row)
	if err != nil {
		return nil, err
	}
	switch b.operator {
	case "=":
		return compare(left, right) == 0, nil
	case "!=":
		return compare(left, right) != 0, nil
	}
	// Nothing is known of what is not there.
	if left == nil || right == nil {
		return nil, nil
	}
	switch b.operator {
	case "<":
		return compare(left, right) < 0, nil
	case "<=":
		return compare(left, right) <= 0, nil
	case ">":
		return compare(left, right) > 0, nil
	case ">=":
		return compare(left, right) >= 0, nil
	case "contains":
		return strings.Contains(asText(left), asText(right)), nil
	}
	return arithmetic(b.operator, left, right)
}

func arithmetic(operator string, left, right value) (value, error) {
	if operator == "+" {
		if _, is := left.(string); is {
			return asText(left) + asText(right), nil
		}
	}
	a, err := asNumber(left, operator)
	if err != nil {
		return nil, err
	}
	b, err := asNumber(right, operator)
	if err != nil {
		return nil, err
	}
	switch operator {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if b == 0 {
		return nil, fmt.Errorf("%s %s 0 cannot be computed", asText(left), operator)
	}
	if operator == "%" {
		return math.Mod(a, b), nil
	}
	return a / b, nil
}

var functions = map[string]func(value) (value, error){
	"len":   func(v value) (value, error) { return float64(utf8.RuneCountInString(asText(v))), nil },
	"lower": func(v value) (value, error) { return strings.ToLower(asText(v)), nil },
	"upper": func(v value) (value, error) { return strings.ToUpper(asText(v)), nil },
	"round": func(v value) (value, error) {
		n, err := asNumber(v, "round")
		return math.Round(n), err
	},
}

func (c call) of(row row) (value, error) {
	argument, err := c.arguments[0].of(row)
	if err != nil || argument == nil {
		return nil, err
	}
	return functions[c.function](argument)
}

func truth(v value) bool {
	is, _ := v.(bool)
	return is
}

func numberOf(v value) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

func asNumber(v value, operator string) (float64, error) {
	if n, is := numberOf(v); is {
		return n, nil
	}
	return 0, fmt.Errorf("%s needs numbers, and %s is none", operator, asText(v))
}

func asText(v value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// Numbers by size, and before texts; nothing is before all.
func compare(a, b value) int {
	if a == nil || b == nil {
		return order(a != nil, b != nil)
	}
	m, aIs := numberOf(a)
	n, bIs := numberOf(b)
	switch {
	case aIs && bIs && m < n:
		return -1
	case aIs && bIs && m > n:
		return 1
	case aIs && bIs:
		return 0
	case aIs != bIs:
		return order(!aIs, !bIs)
	}
	return strings.Compare(asText(a), asText(b))
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
