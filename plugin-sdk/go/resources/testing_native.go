//go:build !wasm

package resources

import (
	wharf "wharf-plugin"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
)

// ABIRead is for package wharftest.
func ABIRead(uri string) (Result, error) {
	return read(wharf.ABICall(types.CallContext{Id: "test"}), uri)
}

// ABIList is for package wharftest.
func ABIList() ([]types.ResourceDescription, error) { return list() }
