package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	end kind = iota
	name
	number
	text
	symbol
)

// A token, and where it begins in the query, in bytes.
type token struct {
	kind kind
	// What it says; of a text what is between the quotes, with escapes resolved.
	says string
	at   int
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end of the query"
	case text:
		return fmt.Sprintf("the text %q", t.says)
	default:
		return "`" + t.says + "`"
	}
}

// What is wrong with a query, and where.
type syntaxError struct {
	query  string
	at     int
	reason string
}

// Error shows the line with a mark below the place.
func (e *syntaxError) Error() string {
	begin := strings.LastIndexByte(e.query[:e.at], '\n') + 1
	line, _, _ := strings.Cut(e.query[begin:], "\n")
	row := strings.Count(e.query[:begin], "\n") + 1
	column := utf8.RuneCountInString(e.query[begin:e.at]) + 1
	mark := strings.Repeat(" ", column-1) + "^"
	return fmt.Sprintf("line %d, column %d: %s\n%s\n%s", row, column, e.reason, line, mark)
}

// All tokens of a query, with one of kind end at the end.
func tokens(query string) ([]token, error) {
	var all []token
	for at := 0; at < len(query); {
		first, size := utf8.DecodeRuneInString(query[at:])
		switch {
		case unicode.IsSpace(first):
			at += size
			continue
		case first == '"' || first == '\'':
			token, next, err := quoted(query, at)
			if err != nil {
				return nil, err
			}
			all = append(all, token)
			at = next
			continue
		case isNameStart(first):
			size = length(query[at:], func(r rune) bool { return isNameStart(r) || unicode.IsDigit(r) || r == '.' })
			all = append(all, token{name, query[at : at+size], at})
		case first >= '0' && first <= '9':
			size = length(query[at:], func(r rune) bool { return r >= '0' && r <= '9' || r == '.' })
			all = append(all, token{number, query[at : at+size], at})
		default:
			if size = symbolSize(query[at:]); size == 0 {
				return nil, &syntaxError{query, at, fmt.Sprintf("%q means nothing here", first)}
			}
			all = append(all, token{symbol, query[at : at+size], at})
		}
		at += size
	}
	return append(all, token{end, "", len(query)}), nil
}

func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// How many bytes at the beginning are of runes that fit.
func length(of string, fits func(rune) bool) int {
	for at, r := range of {
		if !fits(r) {
			return at
		}
	}
	return len(of)
}

func symbolSize(of string) int {
	for _, two := range []string{"!=", "<=", ">="} {
		if strings.HasPrefix(of, two) {
			return 2
		}
	}
	if strings.IndexByte("|,:()=<>+-*/%", of[0]) >= 0 {
		return 1
	}
	return 0
}

// A text in quotes that begins there, and where it ends.
func quoted(query string, at int) (token, int, error) {
	var says strings.Builder
	for next := at + 1; next < len(query); next++ {
		switch query[next] {
		case query[at]:
			return token{text, says.String(), at}, next + 1, nil
		case '\\':
			if next++; next == len(query) {
				continue
			}
			switch query[next] {
			case 'n':
				says.WriteByte('\n')
			case 't':
				says.WriteByte('\t')
			case '\\', '"', '\'':
				says.WriteByte(query[next])
			default:
				return token{}, 0, &syntaxError{query, next - 1, "a backslash is followed by one of \\ \" ' n t"}
			}
		default:
			says.WriteByte(query[next])
		}
	}
	return token{}, 0, &syntaxError{query, at, "this text has no end"}
}
