// Package extensions extends MCP with capabilities that a plugin declares, and with methods
// of its own. Importing it exports the interface.
package extensions

import (
	"encoding/json"
	"fmt"

	wharf "wharf-plugin"
	"wharf-plugin/internal/abi/wharf_plugin_extensions"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

type declared struct {
	name     string
	settings any
}

type method struct {
	name string
	run  func(*wharf.Call, string) (any, error)
}

var (
	extensions, experimental []declared
	methods                  []method
)

// Declare declares an extension: its name has a prefix, `vendor.example/name`, and its
// settings must encode to a JSON object.
func Declare(name string, settings any) { extensions = append(extensions, declared{name, settings}) }

// Experimental declares an experimental capability.
func Experimental(name string, settings any) {
	experimental = append(experimental, declared{name, settings})
}

// Method adds a method, which clients call as `<plugin>/<name>`. Params and result are JSON
// objects. It cannot ask questions.
func Method[P, R any](name string, run func(*wharf.Call, P) (R, error)) {
	methods = append(methods, method{name, func(call *wharf.Call, params string) (any, error) {
		var read P
		if err := json.Unmarshal([]byte(params), &read); err != nil {
			return nil, wharf.Invalid("", err.Error())
		}
		return run(call, read)
	}})
}

func settings(list []declared) (raw []wharf_plugin_extensions.Capability, err error) {
	for _, one := range list {
		text, err := json.Marshal(one.settings)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		raw = append(raw, wharf_plugin_extensions.Capability{Name: one.name, Settings: string(text)})
	}
	return raw, nil
}

func describe() (offer wharf_plugin_extensions.Offer, err error) {
	if offer.Extensions, err = settings(extensions); err != nil {
		return offer, err
	}
	if offer.Experimental, err = settings(experimental); err != nil {
		return offer, err
	}
	for _, method := range methods {
		offer.Methods = append(offer.Methods, method.name)
	}
	return offer, nil
}

func call(call *wharf.Call, name, params string) (result string, err error) {
	defer wharf.ABIGuard(&err)
	for _, method := range methods {
		if method.name == name {
			value, err := method.run(call, params)
			if err != nil {
				return "", err
			}
			text, err := json.Marshal(value)
			return string(text), err
		}
	}
	return "", wharf.ErrNotFound
}

func exportDescribe() wit.Result[wharf_plugin_extensions.Offer, string] {
	offer, err := describe()
	if err != nil {
		return wit.Err[wharf_plugin_extensions.Offer, string](err.Error())
	}
	return wit.Ok[wharf_plugin_extensions.Offer, string](offer)
}

func exportCallMethod(name, params string, context types.CallContext) wit.Result[string, types.CallError] {
	result, err := call(wharf.ABICall(context), name, params)
	if err != nil {
		return wit.Err[string, types.CallError](wharf.ABIFailure(err))
	}
	return wit.Ok[string, types.CallError](result)
}
