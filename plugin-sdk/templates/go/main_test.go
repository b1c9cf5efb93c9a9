package main

import (
	"testing"

	"wharf-plugin/wharftest"
)

func TestGreets(t *testing.T) {
	result, err := wharftest.Call("greet", Greet{Name: "Ada"})
	if err != nil || result.Text() != "Hello, Ada!" {
		t.Error(result, err)
	}
	if _, err := wharftest.Call("greet", Greet{}); err == nil {
		t.Error("nobody was greeted")
	}
}

func TestCounts(t *testing.T) {
	result, err := wharftest.Call("count", Text{Text: "two wörds"})
	if err != nil || result.Structured != (Count{Words: 2, Characters: 9}) {
		t.Error(result, err)
	}
}
