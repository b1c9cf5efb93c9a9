package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// A row keeps the order of its columns.
type row struct {
	columns []string
	values  []value
}

func (r row) get(column string) (value, bool) {
	if at := slices.Index(r.columns, column); at >= 0 {
		return r.values[at], true
	}
	return nil, false
}

func (r *row) set(column string, value value) {
	r.columns, r.values = append(r.columns, column), append(r.values, value)
}

// MarshalJSON writes an object.
func (r row) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, column := range r.columns {
		if i > 0 {
			text.WriteByte(',')
		}
		name, err := json.Marshal(column)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(r.values[i])
		if err != nil {
			return nil, err
		}
		text.Write(name)
		text.WriteByte(':')
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

var isNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// Rows of a table with a header. What looks like a number is one; an empty cell is null.
func readCSV(data string) ([]row, error) {
	reader := csv.NewReader(strings.NewReader(data))
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	var rows []row
	for err == nil {
		var cells []string
		if cells, err = reader.Read(); err != nil {
			break
		}
		row := row{columns: header}
		for _, cell := range cells {
			switch {
			case cell == "":
				row.values = append(row.values, nil)
			case isNumber.MatchString(cell):
				row.values = append(row.values, json.Number(cell))
			default:
				row.values = append(row.values, cell)
			}
		}
		rows = append(rows, row)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return rows, err
}

// Rows of a list of objects, or of objects one after the other, as in JSON Lines.
func readJSON(data string) ([]row, error) {
	decoder := json.NewDecoder(strings.NewReader(data))
	decoder.UseNumber()
	first, err := decoder.Token()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, place(data, err)
	}
	inList := first == json.Delim('[')
	if !inList {
		decoder = json.NewDecoder(strings.NewReader(data))
		decoder.UseNumber()
	}
	var rows []row
	for number := 1; decoder.More(); number++ {
		row, err := readRow(decoder)
		if err != nil {
			return nil, place(data, fmt.Errorf("row %d: %w", number, err))
		}
		rows = append(rows, row)
	}
	if inList {
		if _, err := decoder.Token(); err != nil {
			return nil, place(data, err)
		}
	}
	return rows, nil
}

func readRow(decoder *json.Decoder) (made row, err error) {
	begin, err := decoder.Token()
	if err != nil {
		return made, err
	}
	if begin != json.Delim('{') {
		return made, errors.New("a row is an object")
	}
	for decoder.More() {
		column, err := decoder.Token()
		if err != nil {
			return made, err
		}
		var value value
		if err := decoder.Decode(&value); err != nil {
			return made, err
		}
		name, _ := column.(string)
		if at := slices.Index(made.columns, name); at >= 0 {
			made.values[at] = value
		} else {
			made.set(name, value)
		}
	}
	_, err = decoder.Token()
	return made, err
}

// The error with its line and column, where it has a place.
func place(data string, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset < 1 || int(syntax.Offset) > len(data) {
		return err
	}
	return &syntaxError{data, int(syntax.Offset) - 1, err.Error()}
}
