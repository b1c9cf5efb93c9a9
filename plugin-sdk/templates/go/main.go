package main

import wharf "wharf-plugin"

// Greet is the arguments of a tool: its schema is derived from the tags.
type Greet struct {
	Name string `json:"name" description:"Whom to greet."`
	Loud bool   `json:"loud,omitempty" description:"Whether to shout."`
}

// Count is a structured result.
type Count struct {
	Words      int `json:"words"`
	Characters int `json:"characters" description:"With spaces."`
}

// Text is the arguments of a tool.
type Text struct {
	Text string `json:"text"`
}

// A component does not run main: everything is added here.
func init() {
	wharf.Tool("greet", "Greets somebody.", greet).ReadOnly()
	wharf.Tool("count", "Counts the words and characters of a text.", count).ReadOnly()
}

func main() {}
