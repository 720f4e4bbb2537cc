package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/setting"
)

// settingFlags are a command's flags for the settings of agents, sessions or forks, one for each setting.
type settingFlags struct {
	command *cobra.Command
	scope   setting.Scope
	values  map[string]*string // by the setting's name
	tools   []string
	unset   []string
}

// addSettings adds to a command the flags for the settings of a scope.
func addSettings(command *cobra.Command, scope setting.Scope) *settingFlags {
	f := &settingFlags{command: command, scope: scope, values: map[string]*string{}}
	for _, one := range setting.All(scope) {
		if d := one.Describe(); d != setting.Tools.Describe() {
			f.values[d.Name] = command.Flags().String(flagOf(d.Name), "", helpOf(d))
		}
	}
	command.Flags().
		StringArrayVar(&f.tools, "tool", nil, `a tool that may be used (repeatable): names with commas between, `+
			`or {"name","description","agent"} for a tool that is an agent`)
	return f
}

// addSettingsPatch is addSettings for a command that changes something.
func addSettingsPatch(command *cobra.Command, scope setting.Scope) *settingFlags {
	f := addSettings(command, scope)
	command.Flags().StringSliceVar(&f.unset, "unset", nil,
		"name of a setting to remove here (repeatable)")
	return f
}

func flagOf(name string) string { return strings.ReplaceAll(name, "_", "-") }

// helpOf is a setting's documentation in the help.
func helpOf(d *setting.Description) string {
	usage := strings.TrimSuffix(d.Doc, ".")
	usage = strings.ToLower(usage[:1]) + usage[1:]
	switch {
	case len(d.Choices) > 0:
		usage += ": " + strings.Join(d.Choices, ", ")
	case d.Kind == setting.Object || d.Kind == setting.List:
		usage += "; JSON, such as " + d.Example
	}
	return usage
}

// settings are what the flags set.
func (f *settingFlags) settings() (s parley.Settings, err error) {
	given, err := f.given()
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(given, &s)
}

// patch is what the flags change.
func (f *settingFlags) patch() (p parley.SettingsPatch, err error) {
	given, err := f.given()
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(given, &p)
}

// given is a JSON object of the settings whose flags were given.
func (f *settingFlags) given() ([]byte, error) {
	given := map[string]json.RawMessage{}
	for _, one := range setting.All(f.scope) {
		d := one.Describe()
		value, ok := f.values[d.Name]
		if !ok || !f.command.Flags().Changed(flagOf(d.Name)) {
			continue
		}
		encoded, err := d.Parse(*value)
		if err != nil {
			return nil, err
		}
		given[d.Name] = encoded
	}
	if f.command.Flags().Changed("tool") {
		refs, err := toolRefs(f.tools)
		if err != nil {
			return nil, err
		}
		if given[setting.Tools.Name], err = json.Marshal(refs); err != nil {
			return nil, err
		}
	}
	for _, name := range f.unset {
		name = strings.ReplaceAll(name, "-", "_")
		if one, ok := setting.Find(name); !ok || !one.Describe().In(f.scope) {
			return nil, parley.InvalidField("unset", "%q is not a setting; choose one of %s",
				parley.Clip(name, 32), strings.Join(f.names(), ", "))
		}
		given[name] = json.RawMessage("null")
	}
	return json.Marshal(given)
}

func (f *settingFlags) names() (names []string) {
	for _, one := range setting.All(f.scope) {
		names = append(names, one.Describe().Name)
	}
	slices.Sort(names)
	return names
}

// maxSettingShown bounds a setting's value in a table, in bytes.
const maxSettingShown = 200

// settingRows returns the settings that have values, as rows of a table.
func settingRows(scope setting.Scope, s *parley.Settings) (rows [][]string) {
	for _, one := range setting.All(scope) {
		if !one.IsSet(s) {
			continue
		}
		d := one.Describe()
		value, err := one.AppendValue(nil, s)
		if err != nil {
			continue
		}
		shown := string(value)
		if d.Kind == setting.Text || d.Kind == setting.Choice {
			var text string
			if json.Unmarshal(value, &text) == nil {
				shown = strings.ReplaceAll(text, "\n", " ")
			}
		}
		rows = append(rows, []string{strings.ReplaceAll(d.Name, "_", " "), parley.Clip(shown, maxSettingShown)})
	}
	return rows
}

// toolRefs reads the values of --tool.
func toolRefs(given []string) (refs []parley.ToolRef, err error) {
	refs = []parley.ToolRef{} // --tool "" means no tools
	for _, text := range given {
		switch text = strings.TrimSpace(text); {
		case text == "":
		case !strings.HasPrefix(text, "{"):
			refs = append(refs, client.ToolNames(strings.Split(text, ",")...)...)
		default:
			var ref parley.ToolRef
			if err := ref.UnmarshalJSON([]byte(text)); err != nil {
				return nil, err
			}
			refs = append(refs, ref)
		}
	}
	return refs, nil
}
