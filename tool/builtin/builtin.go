// Package builtin holds Parley's own tools: the time, the files of a session's project directory and nothing outside
// it, pages of the web, and web search if there is a key for it. It owns no state, and does not decide which agent may
// use which tool.
package builtin

import (
	"context"
	"slices"
	"sort"
	"time"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

// sourceName is the Source of these tools.
const sourceName = "builtin"

// Source is a fixed set of tools. It implements tool.Source.
type Source struct {
	tools []tool.Tool // by name
}

var _ tool.Source = Source{}

// Tools returns the tools that every server has, for programs that choose projects' directories themselves: the file
// tools work wherever a project lies, except in directories of the system and places that usually hold secrets.
func Tools() Source { return ToolsWithin(projectdir.Anywhere()) }

// ToolsWithin is Tools limited to the projects, and the files in them, that a policy allows.
func ToolsWithin(policy *projectdir.Policy) Source {
	return sourceOf(askUser{}, currentTime{now: time.Now},
		newListFiles(policy), newReadFile(policy), newSearchFiles(policy), newWriteFile(policy))
}

func sourceOf(tools ...tool.Tool) Source {
	sort.Slice(tools, func(i, j int) bool { return tools[i].Definition().Name < tools[j].Definition().Name })
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

// For implements tool.Source: every workspace has the same tools.
func (s Source) For(parley.ID) tool.Source { return s }

// Expects implements tool.Source: built-in tools are always there.
func (Source) Expects(string) bool { return false }

// Await implements tool.Source.
func (Source) Await(context.Context) {}

// Faults implements tool.Source: built-in tools are always usable.
func (Source) Faults() []tool.Fault { return nil }

// Tools lists the tools by name.
func (s Source) Tools() []tool.Tool { return slices.Clone(s.tools) }
