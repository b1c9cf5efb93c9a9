package main

import (
	"strings"
	"unicode/utf8"

	wharf "wharf-plugin"
)

func greet(_ *wharf.Call, a Greet) (string, error) {
	if strings.TrimSpace(a.Name) == "" {
		return "", wharf.Invalid("/name", "must not be empty")
	}
	if a.Loud {
		return "HELLO, " + strings.ToUpper(a.Name) + "!", nil
	}
	return "Hello, " + a.Name + "!", nil
}

func count(_ *wharf.Call, a Text) (Count, error) {
	return Count{len(strings.Fields(a.Text)), utf8.RuneCountInString(a.Text)}, nil
}
