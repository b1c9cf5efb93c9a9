package main

import wharf "wharf-plugin"

// Greet is the arguments of a tool: the tags make its schema.
type Greet struct {
	Name string `json:"name" description:"Whom to greet."`
	Loud bool   `json:"loud,omitempty" description:"Whether to shout."`
}

// Count is a structured result.
type Count struct {
	Words      int `json:"words"`
	Characters int `json:"characters" description:"With spaces."`
}

// Text is something to look at.
type Text struct {
	Text string `json:"text"`
}

// A component has no main that runs: everything is added here.
func init() {
	wharf.Tool("greet", "Greets somebody.", greet).ReadOnly()
	wharf.Tool("count", "Counts the words and characters of a text.", count).ReadOnly()
}

func main() {}
