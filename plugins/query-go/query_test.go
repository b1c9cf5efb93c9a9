package main

import (
	"encoding/json"
	"strings"
	"testing"

	"wharf-plugin/wharftest"
)

const cities = `[
	{"name":"Ada","city":"London","price":3.5,"at":{"zip":"N1"}},
	{"name":"Bo","city":"Rome","price":10,"at":{"zip":"R2"}},
	{"name":"Cy","city":"London","price":null,"at":{"zip":"N2"},"id":12345678901234567890}
]`

func answer(query, data string) string {
	result, err := wharftest.Call("run", Run{Query: query, Data: data})
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(result.Structured.(Answer).Rows)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestQueries(t *testing.T) {
	for _, try := range [][3]string{
		{`where price > 3`, cities, `[{"name":"Ada","city":"London","price":3.5,"at":{"zip":"N1"}},{"name":"Bo","city":"Rome","price":10,"at":{"zip":"R2"}}]`},
		{`where at.zip contains "N" and not price = null | select name`, cities, `[{"name":"Ada"}]`},
		{`select name, price * 2 + 1 as p | sort p desc, name`, cities, `[{"name":"Bo","p":21},{"name":"Ada","p":8},{"name":"Cy","p":null}]`},
		{`group city: count(), sum(price), mean(price) as m, max(name)`, cities,
			`[{"city":"London","count":2,"sum_price":3.5,"m":3.5,"max_name":"Cy"},{"city":"Rome","count":1,"sum_price":10,"m":10,"max_name":"Bo"}]`},
		{`where id != null | select id`, cities, `[{"id":12345678901234567890}]`},
		{`select upper(n) + "!" as n, -(1 - 2) % 2 as one | limit 1`, "n,m\na b,1\nc,\n", `[{"n":"A B!","one":1}]`},
		{`where m = null or m >= 01`, "n,m\nx,0.5\ny,\nz,1\n", `[{"n":"y","m":null},{"n":"z","m":1}]`},
		{`limit 9`, "", `[]`},
		{`sort n`, "{\"n\":2}\n{\"n\":\"a\"}\n{\"n\":10}", `[{"n":2},{"n":10},{"n":"a"}]`},
	} {
		if got := answer(try[0], try[1]); got != try[2] {
			t.Errorf("%s\n got  %s\n want %s", try[0], got, try[2])
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, try := range [][3]string{
		{`where price > `, cities, "line 1, column 15: expected a value, found the end of the query"},
		{"where price > 3\n| chose name", cities, "line 2, column 3: expected where, select, sort, limit or group, found `chose`\n| chose name\n  ^"},
		{`select 1 + 1`, cities, "column 8: this column needs a name"},
		{`where "ä" = "b`, cities, "column 13: this text has no end"},
		{`where a ? b`, cities, "column 9: '?' means nothing here"},
		{`where f(1)`, cities, "column 7: there is no function `f`"},
		{`group city`, cities, "column 11: expected `:`, found the end"},
		{`limit many`, cities, "column 7: expected a whole number"},
		{`where ` + strings.Repeat("(", 200) + `1`, cities, "nested more than 100 deep"},
		{`select price / 0 as p`, cities, "3.5 / 0 cannot be computed"},
		{`select name * 2 as p`, cities, "* needs numbers, and Ada is none"},
		{`limit 1`, `[{"a":1},{"a":]`, "/data: line 1, column 15: row 2: invalid character ']'"},
		{`limit 1`, "a,b\n1\n", "/data: record on line 2: wrong number of fields"},
	} {
		if got := answer(try[0], try[1]); !strings.Contains(got, try[2]) {
			t.Errorf("%s\n got  %s\n want %s", try[0], got, try[2])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`where a > 3 and not (b contains "x") | group c: sum(d) as e | sort e desc | limit 2`)
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := parse(query); err != nil && err.Error() == "" {
			t.Error("an error without a word")
		}
	})
}

func TestPromptAndResource(t *testing.T) {
	made, err := wharftest.Prompt("write", map[string]string{"question": "how many?", "columns": "a, b", "format": "csv"})
	if err != nil {
		t.Fatal(err)
	}
	if said, _ := made.Messages[1].Content.AsText(); !strings.Contains(said, "over CSV with the columns a, b") {
		t.Error(said)
	}
	read, err := wharftest.Read(languageURI)
	if err != nil || read.Contents[0].Text != language {
		t.Error(read, err)
	}
}
