//go:build !wasm

package wharf

import (
	"errors"

	"wharf-plugin/internal/abi/wharf_plugin_tools"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
)

// ABITools is for package wharftest.
func ABITools() ([]wharf_plugin_tools.Tool, error) { return listTools() }

// ABIRun runs a tool, and returns its questions in place of an error. It is for package
// wharftest.
func ABIRun(context types.CallContext, name, arguments string) (*Result, *types.InputRequired, error) {
	call := ABICall(context)
	result, err := runTool(call, name, arguments)
	if err == nil {
		_, err = result.abi()
		return result, nil, err
	}
	var question *asked
	if errors.As(err, &question) {
		required := call.require(question.questions, "")
		return nil, &required, nil
	}
	return nil, nil, err
}
