// Package builtin has Parley's own tools: the time, the files of a session's project directory and
// nothing outside it, and web search if there is a key for it. It owns no state, and does not
// decide which agent may use which tool.
package builtin

import (
	"context"
	"slices"
	"strings"
	"time"

	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

// sourceName is what the tools say of who runs them.
const sourceName = "builtin"

// Source is a fixed set of tools. It implements tool.Source.
type Source struct {
	tools []tool.Tool // by name
}

var _ tool.Source = Source{}

// Tools are the tools that every server has, for programs that choose projects'
// directories themselves: those of files work wherever a project lies, but in
// directories of the system and where secrets usually lie.
func Tools() Source { return ToolsWithin(projectdir.Anywhere()) }

// ToolsWithin are Tools that open only the projects, and the files in them, that a
// policy lets them.
func ToolsWithin(policy *projectdir.Policy) Source {
	return sourceOf(askUser{}, currentTime{now: time.Now},
		newListFiles(policy), newReadFile(policy), newSearchFiles(policy), newWriteFile(policy))
}

func sourceOf(tools ...tool.Tool) Source {
	slices.SortFunc(tools, func(a, b tool.Tool) int {
		return strings.Compare(a.Definition().Name, b.Definition().Name)
	})
	return Source{tools}
}

// Tool finds a tool by its exact name.
func (s Source) Tool(name string) (tool.Tool, bool) {
	for _, tool := range s.tools {
		if tool.Definition().Name == name {
			return tool, true
		}
	}
	return nil, false
}

// Expects implements tool.Source: what is built in is there at once.
func (Source) Expects(string) bool { return false }

// Await implements tool.Source.
func (Source) Await(context.Context) {}

// Faults implements tool.Source: what is built in can be used.
func (Source) Faults() []tool.Fault { return nil }

// Tools lists the tools by name.
func (s Source) Tools() []tool.Tool { return slices.Clone(s.tools) }
