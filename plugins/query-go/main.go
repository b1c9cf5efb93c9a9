// Queries over JSON and CSV.
package main

import (
	_ "embed"
	"strings"

	wharf "wharf-plugin"
	"wharf-plugin/completions"
	"wharf-plugin/prompts"
	"wharf-plugin/resources"
)

//go:embed language.txt
var language string

const languageURI = "query://language"

// Run is what a query runs over.
type Run struct {
	Query  string `json:"query" description:"Stages with | between, as in: where price > 3 | select name, price * 2 as double | sort double desc | limit 5"`
	Data   string `json:"data" description:"A list of objects in JSON, JSON Lines, or CSV with a header."`
	Format string `json:"format,omitempty" enum:"json,csv" description:"What the data is; by its first character if absent."`
}

// Answer is the rows that are left.
type Answer struct {
	Rows  []row `json:"rows"`
	Count int   `json:"count" description:"How many rows there are."`
	Read  int   `json:"read" description:"How many rows the data has."`
}

// Check is a query that is only read.
type Check struct {
	Query string `json:"query"`
}

// Ask is what a query is to be written for.
type Ask struct {
	Question string `json:"question" description:"What to find out."`
	Columns  string `json:"columns" description:"The columns of the data, with commas between."`
	Format   string `json:"format,omitempty" description:"json or csv."`
}

func init() {
	wharf.Tool("run", "Queries JSON or CSV: filter, compute, sort, group. The resource query://language has the language.", run).
		Title("Query JSON or CSV").ReadOnly().
		OutputSchema(`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object"}},"count":{"type":"integer"},"read":{"type":"integer"}},"required":["rows","count","read"]}`)
	wharf.Tool("check", "Says whether a query is right, or where it is not.", func(_ *wharf.Call, a Check) (string, error) {
		stages, err := parse(a.Query)
		if err != nil {
			return "", wharf.Invalid("/query", err.Error())
		}
		if len(stages) == 1 {
			return "right: 1 stage", nil
		}
		return "right: " + asText(float64(len(stages))) + " stages", nil
	}).ReadOnly()

	prompts.Add("write", "Asks for a query that answers a question.", func(_ *wharf.Call, a Ask) (prompts.Result, error) {
		return prompts.User(
			wharf.Embedded(wharf.Contents{URI: languageURI, MIMEType: "text/plain", Text: language}),
			wharf.Text("Write a query in this language over "+a.kind()+"columns "+a.Columns+". It should answer: "+a.Question),
		), nil
	})
	completions.Handle(func(typed completions.Typed) (completions.Completion, error) {
		if typed.Argument == "format" {
			return completions.Of(typed, "json", "csv"), nil
		}
		return completions.Completion{}, nil
	})
	resources.Add(wharf.Resource{URI: languageURI, Name: "language", MIMEType: "text/plain", Description: "How to write queries."},
		func(*wharf.Call) (resources.Result, error) { return resources.Text(languageURI, language), nil })
}

func (a Ask) kind() string {
	if a.Format == "" {
		return "data with the "
	}
	return strings.ToUpper(a.Format) + " with the "
}

func run(call *wharf.Call, a Run) (Answer, error) {
	stages, err := parse(a.Query)
	if err != nil {
		return Answer{}, wharf.Invalid("/query", err.Error())
	}
	rows, err := read(a)
	if err != nil {
		return Answer{}, wharf.Invalid("/data", err.Error())
	}
	answer := Answer{Read: len(rows)}
	for i, stage := range stages {
		call.Progress(float64(i+1), float64(len(stages)), "")
		if rows, err = stage.apply(rows); err != nil {
			return Answer{}, err
		}
	}
	if answer.Rows = rows; rows == nil {
		answer.Rows = []row{}
	}
	answer.Count = len(rows)
	return answer, nil
}

func read(a Run) ([]row, error) {
	data := strings.TrimSpace(a.Data)
	if a.Format == "json" || a.Format == "" && (strings.HasPrefix(data, "[") || strings.HasPrefix(data, "{")) {
		return readJSON(a.Data)
	}
	return readCSV(a.Data)
}

func main() {}
