package main

import (
	"slices"
	"strconv"
)

// An expression has a value in each row.
type expression interface {
	of(row row) (value, error)
}

type (
	field    string
	constant struct{ value value }
	unary    struct {
		operator string
		operand  expression
	}
	binary struct {
		operator    string
		left, right expression
	}
	call struct {
		function  string
		arguments []expression
	}
)

// Binary operators, those that bind least first. Those of a row bind alike.
var operators = [][]string{
	{"or"}, {"and"},
	{"=", "!=", "<", "<=", ">", ">=", "contains"},
	{"+", "-"}, {"*", "/", "%"},
}

// The level of operators that `not` binds more than.
const negation = 2

func (p *parser) expression() (expression, error) { return p.binary(0) }

func (p *parser) binary(level int) (expression, error) {
	switch at := p.peek(); {
	case level == len(operators):
		return p.unary()
	case level == negation && p.takes("not"):
		operand, err := p.nested(at, func() (expression, error) { return p.binary(level) })
		return unary{"not", operand}, err
	}
	left, err := p.binary(level + 1)
	for err == nil {
		at := p.peek()
		if at.kind != name && at.kind != symbol || !slices.Contains(operators[level], at.says) {
			return left, nil
		}
		p.next()
		var right expression
		right, err = p.binary(level + 1)
		left = binary{at.says, left, right}
	}
	return nil, err
}

func (p *parser) unary() (expression, error) {
	if at := p.peek(); p.takes("-") {
		operand, err := p.nested(at, p.unary)
		return unary{"-", operand}, err
	}
	return p.primary()
}

// Each level costs stack, of which a component has little.
func (p *parser) nested(at token, inside func() (expression, error)) (expression, error) {
	if p.depth++; p.depth > deepest {
		return nil, p.wrong(at, "this is nested more than %d deep", deepest)
	}
	defer func() { p.depth-- }()
	return inside()
}

func (p *parser) primary() (expression, error) {
	at := p.next()
	switch {
	case at.kind == text:
		return constant{at.says}, nil
	case at.kind == number:
		parsed, err := strconv.ParseFloat(at.says, 64)
		if err != nil {
			return nil, p.wrong(at, "%s is not a number", at)
		}
		return constant{parsed}, nil
	case at.kind == symbol && at.says == "(":
		inside, err := p.nested(at, p.expression)
		if err != nil {
			return nil, err
		}
		return inside, p.expect(")")
	case at.kind != name:
		return nil, p.wrong(at, "expected a value, found %s", at)
	}
	switch at.says {
	case "true", "false":
		return constant{at.says == "true"}, nil
	case "null":
		return constant{nil}, nil
	case "where", "select", "sort", "limit", "group", "as", "and", "or", "not", "contains", "asc", "desc":
		return nil, p.wrong(at, "expected a value, found %s", at)
	}
	if !p.takes("(") {
		return field(at.says), nil
	}
	if _, known := functions[at.says]; !known {
		return nil, p.wrong(at, "there is no function %s; there are len, lower, round and upper", at)
	}
	arguments, err := list(p, func() (expression, error) { return p.nested(at, p.expression) })
	if err != nil {
		return nil, err
	}
	if len(arguments) != 1 {
		return nil, p.wrong(at, "%s takes one value", at)
	}
	return call{at.says, arguments}, p.expect(")")
}
