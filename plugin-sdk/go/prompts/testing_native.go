//go:build !wasm

package prompts

import (
	wharf "wharf-plugin"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
)

// ABIGet is for package wharftest.
func ABIGet(name string, given map[string]string) (Result, error) {
	if _, err := list(); err != nil {
		return Result{}, err
	}
	return get(wharf.ABICall(types.CallContext{Id: "test"}), name, given)
}
