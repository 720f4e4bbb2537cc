package httpapi

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/setting"
)

// scopeOf is the scope whose settings a type holds, if it holds any.
func scopeOf(t reflect.Type) setting.Scope {
	switch t {
	case reflect.TypeFor[parley.Agent](), reflect.TypeFor[engine.AgentInput](), reflect.TypeFor[engine.AgentPatch]():
		return setting.Agent
	case reflect.TypeFor[parley.Session](), reflect.TypeFor[engine.SessionInput](),
		reflect.TypeFor[engine.SessionPatch]():
		return setting.Session
	case reflect.TypeFor[engine.MessageInput](), reflect.TypeFor[engine.PreviewInput]():
		return setting.Message
	case reflect.TypeFor[engine.ForkInput](), reflect.TypeFor[engine.EditInput](),
		reflect.TypeFor[engine.RegenerateInput]():
		return setting.Fork
	}
	return 0
}

// settingOf is the setting that a field of a type holds, if it holds one.
func settingOf(t reflect.Type, field reflect.StructField) (setting.Setting, bool) {
	holder := t
	if inside := field.Index[:len(field.Index)-1]; len(inside) > 0 {
		holder = t.FieldByIndex(inside).Type
	}
	switch holder {
	case reflect.TypeFor[parley.Settings](),
		reflect.TypeFor[parley.SettingsPatch](),
		reflect.TypeFor[parley.Parameters]():
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		return setting.Find(name)
	}
	return nil, false
}

// settingTags are the tags that describe a setting in an input's field. The bool is false if the setting does not
// belong in the input's scope.
func settingTags(t reflect.Type, one setting.Setting) (reflect.StructTag, bool) {
	d, scope := one.Describe(), scopeOf(t)
	if scope != 0 && !d.In(scope) {
		return "", false
	}
	tags := ` doc:` + strconv.Quote(d.DocOf(scope))
	if d.Bounded() {
		tags += ` minimum:"` + bound(d.Min) + `" maximum:"` + bound(d.Max) + `"`
	}
	if len(d.Choices) > 0 {
		tags += ` enum:"` + strings.Join(d.Choices, ",") + `"`
	}
	return reflect.StructTag(tags), true
}

func bound(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

// describeSettings adds to an answer's settings what their types cannot say.
func (r *registry) describeSettings(name string, t reflect.Type, s *huma.Schema) {
	scope := scopeOf(t)
	for _, field := range reflect.VisibleFields(t) {
		one, ok := settingOf(t, field)
		if !ok {
			continue
		}
		d := one.Describe()
		p := s.Properties[d.Name]
		p.Description = d.DocOf(scope)
		if d.Bounded() {
			p.Minimum, p.Maximum = &d.Min, &d.Max
		}
		for _, choice := range d.Choices {
			p.Enum = append(p.Enum, choice)
		}
		if scope == setting.Agent && one.IsShown() {
			p.Nullable = false
			r.nullable[name] = slices.DeleteFunc(
				r.nullable[name],
				func(property string) bool { return property == d.Name },
			)
		}
	}
}
