// Package settings generates files from package setting, which is authoritative: the description
// that the page's forms read, and the reference page.
package settings

import (
	"fmt"
	"strconv"
	"strings"

	"example.org/parley/setting"
)

// Paths of the generated files.
const (
	pageFile      = "web/src/api/settings.ts"
	referenceFile = "docs/reference/settings.md"
)

// Files returns the generated files by their paths below the module's root.
func Files(string) (map[string][]byte, error) {
	every := setting.All(^setting.Scope(0))
	return map[string][]byte{pageFile: []byte(page(every)), referenceFile: []byte(reference(every))}, nil
}

// page returns the TypeScript description of the settings that have a form field.
func page(every []setting.Setting) string {
	var constants strings.Builder
	var names []string
	for _, one := range every {
		d := one.Describe()
		switch d.Kind {
		case setting.Number, setting.Integer, setting.Choice:
		case setting.Text, setting.Switch, setting.Object, setting.List: // they need more than a field
			continue
		}
		names = append(names, d.Name)
		fmt.Fprintf(
			&constants,
			"export const %s = { name: '%s', label: '%s', kind: '%s'",
			d.Name,
			d.Name,
			d.Label,
			d.Kind,
		)
		if d.Bounded() {
			fmt.Fprintf(&constants, ", min: %s, max: %s", number(d.Min), number(d.Max))
		}
		if len(d.Choices) > 0 {
			fmt.Fprintf(&constants, ", choices: ['%s']", strings.Join(d.Choices, "', '"))
		}
		constants.WriteString(" } satisfies SettingForm;\n")
	}
	return `// Made by make generate from the Go package setting. Do not edit.

import type { Session } from './schema';

// FieldSettings are the settings that a form has one field for; null is not set here.
export type FieldSettings = Pick<Session, '` + strings.Join(names, "' | '") + `'>;

// SettingForm is what a form needs to know of one.
export interface SettingForm {
  name: keyof FieldSettings;
  label: string;
  kind: 'number' | 'integer' | 'choice';
  min?: number;
  max?: number;
  choices?: string[];
}

` + constants.String() + `
export const FIELD_SETTINGS: SettingForm[] = [` + strings.Join(names, ", ") + `];
`
}

// reference returns the documentation page.
func reference(every []setting.Setting) string {
	var rows strings.Builder
	for _, one := range every {
		d := one.Describe()
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s | %s | `%s` |\n",
			d.Name, typed(d), places(d), wins(d), escaped(d.Doc), escaped(d.Example))
	}
	return `# Settings

<!-- Made by make generate from the Go package setting. Do not edit. -->

What an agent, a session, a message or a fork sets about turns. A setting is a flat field of the request that creates or
changes it, by the name below, and a flag of ` + "`parley agents create`, `agents update`, `sessions create`" + `,
` + "`sessions update` and `sessions fork` (`--max-tokens 2000`; tools by `--tool`)" +
		`. In a PATCH what is left out stays and
null clears (` + "`--unset`" + `); ` + "`limits`" + ` changes limit by limit.

The nearest scope wins: a message over its session, a session over its agent. Where that is *part by part*, a part that
the nearer one does not set is the wider one's. A fork has its parent session's settings, but for those that the request
sets, part by part as well.

| name | type | set on | the nearer one | what it is | example |
|---|---|---|---|---|---|
` + rows.String()
}

func typed(d *setting.Description) string {
	switch {
	case len(d.Choices) > 0:
		return strings.Join(d.Choices, ", ")
	case d.Bounded():
		return fmt.Sprintf("%s, %s to %s", d.Kind, number(d.Min), number(d.Max))
	}
	return string(d.Kind)
}

func places(d *setting.Description) string {
	var on []string
	for _, scope := range setting.Scopes() {
		if d.In(scope) {
			on = append(on, scope.String())
		}
	}
	return strings.Join(on, ", ")
}

func wins(d *setting.Description) string {
	switch d.Wins {
	case setting.ByPart:
		return "wins part by part"
	case setting.Beside:
		return "is looked at first"
	case setting.Whole:
	}
	return "wins whole"
}

func escaped(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
