// The tools of the measured servers, in Go.
package main

import wharf "wharf-plugin"

// Echo is the arguments of a tool.
type Echo struct {
	Message string `json:"message" description:"The text to return."`
}

// Add is the arguments of a tool.
type Add struct {
	A int64 `json:"a"`
	B int64 `json:"b"`
}

// Sum is a structured result.
type Sum struct {
	Sum int64 `json:"sum"`
}

func init() {
	wharf.Tool("echo", "Says back what it is told.", func(_ *wharf.Call, a Echo) (string, error) {
		return a.Message, nil
	}).ReadOnly()
	wharf.Tool("add", "Adds two numbers.", func(_ *wharf.Call, a Add) (Sum, error) {
		return Sum{a.A + a.B}, nil
	}).ReadOnly()
}

func main() {}
