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
	choicesFile   = "web/src/api/choices.ts"
	variantsFile  = "web/src/api/variants.ts"
	referenceFile = "docs/reference/settings.md"
)

// Files returns the generated files by their paths below the module's root.
func Files(string) (map[string][]byte, error) {
	every := setting.All(^setting.Scope(0))
	return map[string][]byte{
		pageFile:      []byte(page(every)),
		choicesFile:   []byte(choices(every)),
		variantsFile:  []byte(variants(every)),
		referenceFile: []byte(reference(every)),
	}, nil
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
			fmt.Fprintf(&constants, ", choices: CHOICES.%s", d.Name)
		}
		constants.WriteString(" } satisfies SettingForm;\n")
	}
	return `// Made by make generate from the Go package setting. Do not edit.

import { CHOICES } from './choices';
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

// choices returns the values of the settings that are a choice, for TypeScript. They are a file of their own, because the
// page's first load needs one of them and nothing else of settings.
func choices(every []setting.Setting) string {
	var lists strings.Builder
	for _, one := range every {
		if d := one.Describe(); len(d.Choices) > 0 {
			fmt.Fprintf(&lists, "  %s: ['%s'],\n", d.Name, strings.Join(d.Choices, "', '"))
		}
	}
	return `// Made by make generate from the Go package setting. Do not edit.

// CHOICES are the values of the settings that have a closed list of them.
export const CHOICES = {
` + lists.String() + `};
`
}

// variants returns the TypeScript description of the settings that have variants. It is a file of its own, because few
// pages need it.
func variants(every []setting.Setting) string {
	var constants strings.Builder
	for _, one := range every {
		d := one.Describe()
		if len(d.Variants) == 0 {
			continue
		}
		fmt.Fprintf(&constants, "\nexport const %s: VariantsForm = {\n  label: '%s',\n  doc: '%s',\n  variants: [\n",
			d.Name, d.Label, strings.ReplaceAll(d.Doc, "'", "\u2019"))
		for _, v := range d.Variants {
			fmt.Fprintf(&constants, "    { kind: '%s', label: '%s', doc: '%s', members: [", v.Kind, v.Label, v.Doc)
			for _, m := range v.Members {
				fmt.Fprintf(&constants, "\n      { name: '%s', label: '%s', kind: '%s'", m.Name, m.Label, m.Kind)
				if m.Kind == setting.Integer {
					fmt.Fprintf(&constants, ", min: %d, max: %d", m.Min, m.Max)
				}
				if m.Default != "" {
					fmt.Fprintf(&constants, ", otherwise: '%s'", m.Default)
				}
				if m.Needed {
					constants.WriteString(", needed: true")
				}
				constants.WriteString(" },")
			}
			if len(v.Members) > 0 {
				constants.WriteString("\n    ")
			}
			constants.WriteString("] },\n")
		}
		constants.WriteString("  ],\n};\n")
	}
	return `// Made by make generate from the Go package setting. Do not edit.

// VariantsForm is what a form needs to know of a setting that has several forms.
export interface VariantsForm {
  label: string;
  doc: string;
  variants: VariantForm[];
}

// VariantForm is what it needs to know of one of them.
export interface VariantForm {
  kind: string;
  label: string;
  doc: string;
  members: MemberForm[];
}

// MemberForm is what a form needs to know of one member.
export interface MemberForm {
  name: string;
  label: string;
  kind: 'integer' | 'switch';
  min?: number;
  max?: number;
  otherwise?: string; // what holds without it, or what to begin with if it is needed
  needed?: boolean;
}
` + constants.String()
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
` + rows.String() + kinds(every)
}

// kinds documents the variants of settings.
func kinds(every []setting.Setting) string {
	var tables strings.Builder
	for _, one := range every {
		d := one.Describe()
		if len(d.Variants) == 0 {
			continue
		}
		fmt.Fprintf(&tables, "\n## `%s`\n\n| `kind` | what it means | members |\n|---|---|---|\n", d.Name)
		for _, v := range d.Variants {
			var members []string
			for _, m := range v.Members {
				about := m.Label
				if m.Kind == setting.Integer {
					about += fmt.Sprintf(", %d to %d", m.Min, m.Max)
				}
				switch {
				case m.Needed:
					about += "; needed"
				case m.Default != "":
					about += "; default " + m.Default
				}
				members = append(members, fmt.Sprintf("`%s` (%s)", m.Name, about))
			}
			fmt.Fprintf(&tables, "| `%s` | %s | %s |\n", v.Kind, v.Doc, strings.Join(members, "; "))
		}
	}
	return tables.String()
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
