// Package wrapper tries the wrapper without a host.
package wrapper

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	wharf "wharf-plugin"
	"wharf-plugin/completions"
	"wharf-plugin/extensions"
	"wharf-plugin/prompts"
	"wharf-plugin/resources"
	"wharf-plugin/wharftest"
)

type greet struct {
	Name string `json:"name" description:"Whom to greet."`
}

type everything struct {
	Small  int8            `json:"small"`
	Count  uint            `json:"count" maximum:"9"`
	Ratio  float64         `json:"ratio,omitempty"`
	Colour *string         `json:"colour" enum:"red,green"`
	Tags   []string        `json:"tags,omitempty" enum:"a,b"`
	Pair   [2]bool         `json:"pair,omitempty"`
	When   time.Time       `json:"when,omitzero"`
	Bytes  []byte          `json:"bytes,omitempty"`
	Any    json.RawMessage `json:"any,omitempty"`
	Named  map[string]int  `json:"named,omitempty"`
	Inner  struct {
		Level int `json:"level" default:"3"`
	} `json:"inner,omitzero"`
	hidden int
}

type quotient struct {
	Quotient  int `json:"quotient" description:"How often it fits."`
	Remainder int `json:"remainder"`
}

type divide struct{ Dividend, Divisor int }

type seats struct {
	Seats   uint   `json:"seats"`
	Where   string `json:"where,omitempty" enum:"inside,outside"`
	Comment *string
}

func init() {
	wharf.Tool("greet", "Greets somebody.", func(_ *wharf.Call, a greet) (string, error) {
		return "Hello, " + a.Name + "!", nil
	}).Title("Greeting").ReadOnly()
	wharf.Tool("everything", "Takes all types.", func(_ *wharf.Call, a everything) (struct{}, error) {
		_ = a.hidden
		return struct{}{}, nil
	})
	wharf.Tool("divide", "Divides.", func(_ *wharf.Call, a divide) (quotient, error) {
		if a.Divisor == 0 {
			return quotient{}, wharf.Invalid("/Divisor", "must not be zero")
		}
		return quotient{a.Dividend / a.Divisor, a.Dividend % a.Divisor}, nil
	})
	wharf.Tool("panic", "Panics.", func(_ *wharf.Call, _ struct{}) (string, error) {
		var none []int
		return fmt.Sprint(none[3]), nil
	})
	wharf.Tool("delete", "Asks twice.", func(c *wharf.Call, _ struct{}) (string, error) {
		found, err := wharf.Once(c, func() (int, error) { wharf.Log(wharf.Info, "looking"); return 3, nil })
		if err != nil {
			return "", err
		}
		yes, err := c.Confirm(fmt.Sprintf("Delete %d files?", found))
		if errors.Is(err, wharf.ErrUnavailable) {
			return "kept, since nobody could be asked", nil
		}
		if err != nil || !yes {
			return "kept", err
		}
		c.Progress(1, 2, "asked")
		really, err := c.Key("really").Confirm("Really?")
		return fmt.Sprint("deleted: ", really), err
	})
	wharf.Tool("book", "Asks with a form.", func(c *wharf.Call, _ struct{}) (string, error) {
		var answer seats
		agreed, err := c.Form("Which table?", &answer)
		return fmt.Sprint(agreed, answer.Seats), err
	})
	wharf.Tool("pack", "Asks together.", func(c *wharf.Call, _ struct{}) (string, error) {
		var tent, stove bool
		err := c.Together(func() {
			tent, _ = c.Confirm("A tent?")
			stove, _ = c.Confirm("A stove?")
		})
		return fmt.Sprint(tent, stove), err
	})
	wharf.Tool("ask", "Asks the model and the client.", func(c *wharf.Call, _ struct{}) (string, error) {
		said, err := c.SampleText("one word")
		if err != nil {
			return "", err
		}
		roots, err := c.Roots()
		if err != nil {
			return "", err
		}
		agreed, err := c.Visit("sign in", "https://example.org")
		return fmt.Sprint(said, " ", len(roots), " ", agreed), err
	})
	wharf.Tool("visit", "Counts.", func(_ *wharf.Call, _ struct{}) (string, error) {
		store, err := wharf.OpenStore()
		if err != nil {
			return "", err
		}
		number, err := store.Increment("visits", 1)
		if err == nil {
			err = store.Set("last", quotient{Quotient: int(number)})
		}
		var last quotient
		if err == nil {
			_, err = store.Get("last", &last)
		}
		keys, _ := store.Keys()
		return fmt.Sprint(number, last.Quotient, keys), err
	})
	wharf.Tool("weather", "Fetches.", func(_ *wharf.Call, _ struct{}) (string, error) {
		response, err := wharf.Get("https://example.org/weather")
		if err != nil {
			return "", err
		}
		return string(response.Body) + response.Field("x-unit"), response.OK()
	})
	prompts.Add("poem", "Asks for a poem.", func(_ *wharf.Call, a struct {
		Theme    string  `json:"theme"`
		Language *string `json:"language"`
	}) (prompts.Result, error) {
		return prompts.User(wharf.Text("about " + a.Theme)), nil
	})
	resources.Add(wharf.Resource{URI: "note://1", Name: "shopping"}, func(*wharf.Call) (resources.Result, error) {
		return resources.Text("note://1", "milk"), nil
	})
	extensions.Declare("org.example/sync", map[string]int{"versions": 1})
	completions.Handle(func(typed completions.Typed) (completions.Completion, error) {
		return completions.Of(typed, "rain", "Rails", "sun"), nil
	})
}

func is(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func text(t *testing.T, tool string, arguments any) string {
	t.Helper()
	result, err := wharftest.Call(tool, arguments)
	if err != nil {
		return "error: " + err.Error()
	}
	return result.Text()
}

func TestToolsAreListedWithSchemas(t *testing.T) {
	tools, err := wharftest.Tools()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]wharftest.Tool{}
	for _, tool := range tools {
		by[tool.Name] = tool
	}
	is(t, by["greet"].Title, "Greeting")
	if !by["greet"].ReadOnly || by["divide"].ReadOnly {
		t.Error("greet alone reads only")
	}
	is(t, by["greet"].InputSchema, `{"properties":{"name":{"description":"Whom to greet.","type":"string"}},"required":["name"],"type":"object"}`)
	is(t, by["greet"].OutputSchema, "")
	is(t, by["pack"].InputSchema, `{"additionalProperties":false,"type":"object"}`)
	is(t, by["divide"].OutputSchema, `{"properties":{"quotient":{"description":"How often it fits.","type":"integer"},"remainder":{"type":"integer"}},"required":["quotient","remainder"],"type":"object"}`)
	is(t, by["everything"].InputSchema, `{"properties":{`+strings.Join([]string{
		`"small":{"maximum":127,"minimum":-128,"type":"integer"}`,
		`"count":{"maximum":9,"minimum":0,"type":"integer"}`,
		`"ratio":{"type":"number"}`,
		`"colour":{"enum":["red","green",null],"type":["string","null"]}`,
		`"tags":{"items":{"enum":["a","b"],"type":"string"},"type":"array"}`,
		`"pair":{"items":{"type":"boolean"},"maxItems":2,"minItems":2,"type":"array"}`,
		`"when":{"format":"date-time","type":"string"}`,
		`"bytes":{"contentEncoding":"base64","type":"string"}`,
		`"any":{}`,
		`"named":{"additionalProperties":{"type":"integer"},"type":"object"}`,
		`"inner":{"properties":{"level":{"default":3,"type":"integer"}},"required":["level"],"type":"object"}`,
	}, ",")+`},"required":["small","count"],"type":"object"}`)
}

func TestCallsAndErrors(t *testing.T) {
	is(t, text(t, "greet", greet{"Ada"}), "Hello, Ada!")
	is(t, text(t, "greet", map[string]int{"name": 3}), "error: /name: expected string, found number")
	is(t, text(t, "divide", divide{1, 0}), "error: /Divisor: must not be zero")
	if said := wharf.Text("a\xffb").ABI().Text().Text; said != "a\uFFFDb" {
		t.Errorf("%q is not UTF-8", said)
	}
	is(t, text(t, "nothing", nil), "error: not found")
	if answer := text(t, "panic", nil); !strings.Contains(answer, "the plugin panicked: runtime error: index out of range") {
		t.Error(answer)
	}
	result, err := wharftest.Call("divide", divide{7, 2})
	if err != nil || !reflect.DeepEqual(result.Structured, quotient{3, 1}) {
		t.Error(result, err)
	}
}

func TestQuestionsAreStraightLineCode(t *testing.T) {
	wharftest.Reset()
	ask := func(tool string, script wharftest.Script) string {
		result, err := script.Call(tool, struct{}{})
		if err != nil {
			return "error: " + err.Error()
		}
		return result.Text()
	}
	is(t, ask("delete", wharftest.Script{wharftest.Accept(nil), wharftest.Decline()}), "deleted: false")
	is(t, fmt.Sprint(wharftest.Messages()), "[info: looking progress: 1 of 2 asked progress: 1 of 2 asked]")
	is(t, ask("delete", wharftest.Script{wharftest.Decline()}), "kept")
	is(t, ask("delete", wharftest.Script{wharftest.Unavailable("no")}), "kept, since nobody could be asked")
	is(t, ask("delete", nil), "error: the script has no answer to question q2")
	is(t, ask("book", wharftest.Script{wharftest.Accept(map[string]int{"seats": 4})}), "true 4")
	is(t, ask("pack", wharftest.Script{wharftest.Accept(nil), wharftest.Decline()}), "true false")
	is(t, ask("ask", wharftest.Script{wharftest.Model("rain"), wharftest.Roots("file:///a"), wharftest.Decline()}), "rain 1 false")
	is(t, ask("ask", wharftest.Script{wharftest.Decline()}), "error: the answer does not fit the question")
}

func TestStoreAndHTTP(t *testing.T) {
	wharftest.Reset()
	is(t, text(t, "visit", nil), "1 1 [last visits]")
	is(t, text(t, "visit", nil), "2 2 [last visits]")
	wharftest.DenyStore()
	if answer := text(t, "visit", nil); !strings.Contains(answer, "grant it `keyvalue`") {
		t.Error(answer)
	}
	is(t, text(t, "weather", nil), "error: a test without `wharftest.Serve` has no network")
	wharftest.Serve(func(request wharf.Request) wharf.Response {
		return wharf.Response{Status: 200, Body: []byte(request.URL), Header: []wharf.Field{{Name: "X-Unit", Value: " C"}}}
	})
	is(t, text(t, "weather", nil), "https://example.org/weather C")
	wharftest.Settings(map[string]string{"unit": "C"})
	unit, found, err := wharf.Config("unit")
	is(t, fmt.Sprintln(unit, found, err), "C true <nil>\n")
}

func TestPromptsResourcesAndCompletions(t *testing.T) {
	made, err := wharftest.Prompt("poem", map[string]string{"theme": "rain"})
	if err != nil {
		t.Fatal(err)
	}
	said, _ := made.Messages[0].Content.AsText()
	is(t, said, "about rain")
	read, err := wharftest.Read("note://1")
	if err != nil {
		t.Fatal(err)
	}
	is(t, read.Contents[0].Text, "milk")
	if _, err := wharftest.Read("note://2"); !errors.Is(err, wharf.ErrNotFound) {
		t.Error(err)
	}
	is(t, fmt.Sprint(completions.Of(completions.Typed{Value: "RA"}, "rain", "Rails", "sun").Values), "[rain Rails]")
}
