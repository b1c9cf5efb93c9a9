package main

import (
	"fmt"
	"slices"
	"strconv"
)

// A query is stages; rows go from one to the next.
type stage interface {
	apply(rows []row) ([]row, error)
}

// A value of an expression and what it is called.
type item struct {
	value expression
	as    string
}

type (
	where     struct{ keeps expression }
	selection struct{ items []item }
	limit     struct{ most int }
	sorting   struct{ keys []sortKey }
	sortKey   struct {
		value expression
		down  bool
	}
	grouping struct {
		by         []string
		aggregates []aggregate
	}
	aggregate struct {
		function string
		// Nil for count().
		of expression
		as string
	}
)

// How deep expressions may nest.
const deepest = 100

type parser struct {
	query string
	rest  []token
	depth int
}

func parse(query string) ([]stage, error) {
	all, err := tokens(query)
	if err != nil {
		return nil, err
	}
	p := &parser{query: query, rest: all}
	var stages []stage
	for {
		stage, err := p.stage()
		if err != nil {
			return nil, err
		}
		stages = append(stages, stage)
		if p.peek().kind == end {
			return stages, nil
		}
		if err := p.expect("|"); err != nil {
			return nil, err
		}
	}
}

func (p *parser) peek() token { return p.rest[0] }

func (p *parser) next() token {
	token := p.rest[0]
	if token.kind != end {
		p.rest = p.rest[1:]
	}
	return token
}

func (p *parser) wrong(at token, format string, arguments ...any) error {
	return &syntaxError{p.query, at.at, fmt.Sprintf(format, arguments...)}
}

// Whether the next token is that word or symbol; then it is taken.
func (p *parser) takes(says string) bool {
	token := p.peek()
	if (token.kind == name || token.kind == symbol) && token.says == says {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(says string) error {
	if at := p.peek(); !p.takes(says) {
		return p.wrong(at, "expected `%s`, found %s", says, at)
	}
	return nil
}

func (p *parser) name(what string) (string, error) {
	token := p.next()
	if token.kind != name {
		return "", p.wrong(token, "expected %s, found %s", what, token)
	}
	return token.says, nil
}

func (p *parser) stage() (stage, error) {
	at := p.next()
	if at.kind == name {
		switch at.says {
		case "where":
			keeps, err := p.expression()
			return where{keeps}, err
		case "select":
			items, err := list(p, p.item)
			return selection{items}, err
		case "sort":
			keys, err := list(p, p.sortKey)
			return sorting{keys}, err
		case "limit":
			return p.limit()
		case "group":
			return p.grouping()
		}
	}
	return nil, p.wrong(at, "expected where, select, sort, limit or group, found %s", at)
}

// One or more, with commas between.
func list[T any](p *parser, one func() (T, error)) ([]T, error) {
	var all []T
	for {
		element, err := one()
		if err != nil {
			return nil, err
		}
		all = append(all, element)
		if !p.takes(",") {
			return all, nil
		}
	}
}

func (p *parser) item() (made item, err error) {
	at := p.peek()
	if made.value, err = p.expression(); err != nil {
		return made, err
	}
	if p.takes("as") {
		made.as, err = p.name("a name")
		return made, err
	}
	field, is := made.value.(field)
	if !is {
		return made, p.wrong(at, "this column needs a name: add `as NAME`")
	}
	made.as = string(field)
	return made, nil
}

func (p *parser) sortKey() (key sortKey, err error) {
	key.value, err = p.expression()
	if err == nil && p.takes("desc") {
		key.down = true
	} else if err == nil {
		p.takes("asc")
	}
	return key, err
}

func (p *parser) limit() (stage, error) {
	at := p.next()
	most, err := strconv.Atoi(at.says)
	if at.kind != number || err != nil {
		return nil, p.wrong(at, "expected a whole number, found %s", at)
	}
	return limit{most}, nil
}

func (p *parser) grouping() (stage, error) {
	by, err := list(p, func() (string, error) { return p.name("a column") })
	if err != nil {
		return nil, err
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	aggregates, err := list(p, p.aggregate)
	return grouping{by, aggregates}, err
}

var aggregateNames = []string{"count", "sum", "min", "max", "mean"}

func (p *parser) aggregate() (made aggregate, err error) {
	at := p.next()
	if at.kind != name || !slices.Contains(aggregateNames, at.says) {
		return made, p.wrong(at, "expected count, sum, min, max or mean, found %s", at)
	}
	made.function, made.as = at.says, at.says
	if err := p.expect("("); err != nil {
		return made, err
	}
	if p.peek().says != ")" || made.function != "count" {
		if made.of, err = p.expression(); err != nil {
			return made, err
		}
	}
	if field, is := made.of.(field); is {
		made.as = made.function + "_" + string(field)
	}
	if err := p.expect(")"); err != nil {
		return made, err
	}
	if p.takes("as") {
		made.as, err = p.name("a name")
	}
	return made, err
}
