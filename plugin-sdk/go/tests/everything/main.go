// A plugin with everything that the wrapper offers, for its tests.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	wharf "wharf-plugin"
	"wharf-plugin/completions"
	"wharf-plugin/extensions"
	"wharf-plugin/prompts"
	"wharf-plugin/resources"
)

// Large is a text to give back.
type Large struct {
	Text  string `json:"text"`
	Times int    `json:"times,omitempty"`
}

// Seats is a form.
type Seats struct {
	Seats uint   `json:"seats" description:"How many people."`
	Where string `json:"where,omitempty" enum:"inside,outside"`
}

// Poem is the arguments of a prompt.
type Poem struct {
	Theme    string `json:"theme" description:"What it is about."`
	Language string `json:"language,omitempty"`
}

type none = struct{}

func init() {
	wharf.Tool("stress", "Makes many host calls among garbage and timers.", stress)
	wharf.Tool("reread", "Reads a large value many times.", reread)
	wharf.Tool("repeat", "Gives a text back, several times.", func(_ *wharf.Call, a Large) (string, error) {
		return strings.Repeat(a.Text, max(a.Times, 1)), nil
	})
	wharf.Tool("contents", "Gives every kind of content.", contents)
	wharf.Tool("tell", "Logs and tells how far it is.", tell).Tasks(wharf.TasksOptional)
	face := resources.Page{URI: "ui://everything/face.html", HTML: "<!doctype html><p>", Title: "A die", Permissions: []string{"clipboardWrite"}}
	wharf.Tool("roll", "Rolls a die, in a page.", roll).Page(face)
	wharf.Tool("roll-again", "Rolls it again, for the page.", roll).Page(face).AppOnly()
	wharf.Tool("panic", "Panics.", func(*wharf.Call, none) (string, error) {
		var missing map[string]int
		missing["x"] = 1
		return "", nil
	})
	wharf.Tool("sleep", "Sleeps for 20 ms.", func(*wharf.Call, none) (string, error) {
		begin := time.Now()
		time.Sleep(20 * time.Millisecond)
		return fmt.Sprint("slept: ", time.Since(begin) >= 20*time.Millisecond), nil
	})
	wharf.Tool("book", "Asks the user.", book)
	wharf.Tool("think", "Asks the model.", func(c *wharf.Call, _ none) (string, error) {
		said, err := c.SampleText("Say a word")
		return "it said: " + said, err
	})
	wharf.Tool("visits", "Counts its calls.", visits)
	wharf.Tool("setting", "Reads a setting and a variable.", func(*wharf.Call, none) (string, error) {
		value, found, err := wharf.Config("unit")
		return fmt.Sprintf("%q %v %q", value, found, os.Getenv("UNIT")), err
	})

	prompts.Add("poem", "Asks for a poem.", func(_ *wharf.Call, a Poem) (prompts.Result, error) {
		made := prompts.User(wharf.Text("Write a poem about " + a.Theme))
		made.Messages = append(made.Messages, prompts.Message{Role: wharf.Assistant, Content: wharf.Text("Gladly")})
		return made, nil
	}).Title("Poem")
	completions.Handle(func(typed completions.Typed) (completions.Completion, error) {
		return completions.Of(typed, "rain", "rails", "sun"), nil
	})
	resources.Add(wharf.Resource{URI: "everything://note", Name: "note", MIMEType: "text/plain"},
		func(*wharf.Call) (resources.Result, error) {
			result := resources.Text("everything://note", "milk")
			result.FreshFor, result.Public = time.Hour, true
			return result, nil
		})
	resources.AddTemplate(resources.Template{URITemplate: "everything://note/{number}", Name: "notes"})
	resources.Read(func(_ *wharf.Call, uri string) (resources.Result, error) {
		number, is := strings.CutPrefix(uri, "everything://note/")
		if !is || number == "0" {
			return resources.Result{}, wharf.ErrNotFound
		}
		return resources.Result{Contents: []wharf.Contents{{URI: uri, MIMEType: "image/png", Bytes: []byte{1, 2, 3}}}}, nil
	})
	extensions.Declare("org.example/everything", map[string]int{"version": 1})
	extensions.Method("double", func(_ *wharf.Call, a struct{ N int }) (map[string]int, error) {
		return map[string]int{"n": 2 * a.N}, nil
	})
}

func contents(*wharf.Call, none) ([]wharf.Content, error) {
	return []wharf.Content{
		wharf.Text("text").Annotated(wharf.Annotations{Audience: []wharf.Role{wharf.User}, Priority: wharf.Ptr(0.5)}),
		wharf.Image([]byte{0x89, 'P', 'N', 'G'}, "image/png"),
		wharf.Audio([]byte("RIFF"), "audio/wav"),
		wharf.Embedded(wharf.Contents{URI: "everything://note", Text: "milk"}),
		wharf.Link(wharf.Resource{URI: "everything://note", Name: "note", Size: wharf.Ptr(uint64(4))}),
	}, nil
}

func tell(c *wharf.Call, _ none) (none, error) {
	wharf.Logf(wharf.Warning, "%d left", 2)
	wharf.LogData(wharf.Error, "disk", map[string]int{"free": 0})
	c.Progress(1, 2, "half")
	c.Progress(2, 2, "")
	return none{}, nil
}

func roll(*wharf.Call, none) (map[string]int, error) { return map[string]int{"face": 4}, nil }

func book(c *wharf.Call, _ none) (string, error) {
	var seats Seats
	agreed, err := c.Form("Which table?", &seats)
	if errors.Is(err, wharf.ErrUnavailable) {
		return "nobody can be asked", nil
	}
	if err != nil || !agreed {
		return "nothing booked", err
	}
	sure, err := c.Confirm(fmt.Sprintf("Book %d seats?", seats.Seats))
	return fmt.Sprintf("%d seats %s: %v", seats.Seats, seats.Where, sure), err
}

func visits(*wharf.Call, none) (string, error) {
	store, err := wharf.OpenStore()
	if err != nil {
		return "", err
	}
	number, err := store.Increment("visits", 1)
	if err == nil {
		err = store.Set("last", Seats{Seats: uint(number)})
	}
	var last Seats
	if err == nil {
		_, err = store.Get("last", &last)
	}
	if err != nil {
		return "", err
	}
	keys, err := store.Keys()
	return fmt.Sprint(last.Seats, " ", len(keys)), err
}

func main() {}
