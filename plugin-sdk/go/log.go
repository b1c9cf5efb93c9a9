package wharf

import (
	"encoding/json"
	"fmt"

	"wharf-plugin/internal/host"
)

// Level is a severity of RFC 5424, least first.
type Level uint8

const (
	Debug Level = iota
	Info
	Notice
	Warning
	Error
	Critical
	Alert
	Emergency
)

// Log says something to whoever watches: the host's log, and the client if it wants
// messages of this level.
func Log(level Level, message string) { host.Log(uint8(level), ABIValid(message)) }

// Logf is Log with a format.
func Logf(level Level, format string, arguments ...any) {
	Log(level, fmt.Sprintf(format, arguments...))
}

// LogData says something structured, with the name of what speaks. What cannot be JSON is
// left out.
func LogData(level Level, logger string, data any) {
	if text, err := json.Marshal(data); err == nil {
		host.LogData(uint8(level), logger, string(text))
	}
}

// Listing is one of the plugin's lists.
type Listing uint8

const (
	// ToolList is that of tools.
	ToolList Listing = iota
	// PromptList is that of prompts.
	PromptList
	// ResourceList is that of resources.
	ResourceList
)

// ListChanged says that one of this plugin's lists would now be answered differently.
func ListChanged(listing Listing) { host.ListChanged(uint8(listing)) }

// ResourceUpdated says that a resource of this plugin has new contents.
func ResourceUpdated(uri string) { host.ResourceUpdated(uri) }
