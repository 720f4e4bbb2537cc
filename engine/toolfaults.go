package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

const (
	// maxSurveyed bounds the agents whose tools are compared with the server's: the first by slug.
	maxSurveyed = 1000
	// surveyPage is how many of them are in memory at once.
	surveyPage = 50
	// maxNamedBy bounds the agents that one entry names.
	maxNamedBy = 20
)

// The sources of entries that belong to no source of tools.
const (
	sourceNone    = "none"
	sourceRuntime = "runtime"
)

// survey adds to what is unusable the active agents that name it, and what agents name and this server lacks.
type survey struct {
	tools    tool.Source
	runtimes []string
	faults   []tool.Fault
	agents   map[string][]string // slugs by the name of an entry
	absent   map[string]ToolInfo
}

// surveyAgents compares the active agents of a workspace with what this server has.
func (e *Engine) surveyAgents(ctx context.Context, workspaceID parley.ID) ([]ToolInfo, error) {
	s := survey{runtimes: e.runtimes(), agents: map[string][]string{}, absent: map[string]ToolInfo{}}
	if e.tools != nil {
		s.tools = e.tools.For(workspaceID)
		s.faults = s.tools.Faults()
	}
	query := store.AgentQuery{Status: parley.AgentActive, Limit: surveyPage}
	for range maxSurveyed / surveyPage {
		page, err := e.store.Agents(ctx, workspaceID, query)
		if err != nil {
			return nil, err
		}
		for i := range page {
			s.look(&page[i])
		}
		if len(page) < surveyPage {
			break
		}
		query.AfterSlug = page[len(page)-1].Slug
	}
	return s.infos(), nil
}

// look notes what an agent names and cannot use.
func (s *survey) look(agent *parley.Agent) {
	if !slices.Contains(s.runtimes, agent.Runtime) {
		s.lacks(agent, agent.Runtime, sourceRuntime, "this server does not have the runtime",
			"Add it to `runtimes` in parley.yaml and restart Parley, or change the agent's runtime.")
	}
	for _, ref := range parley.ValueOf(agent.Tools) {
		if ref.Definition != nil || ref.Agent != nil || s.faulty(agent, ref) || s.has(ref) {
			continue
		}
		s.lacks(agent, ref.Name, sourceNone, "this server has no such tool",
			"Add the MCP server or HTTP tool that it belongs to in parley.yaml and restart Parley, or take the name "+
				"out of the agent's tools.")
	}
}

// lacks notes that an agent names something that this server lacks.
func (s *survey) lacks(agent *parley.Agent, name, source, reason, do string) {
	s.absent[name] = ToolInfo{
		Name: name, Parameters: json.RawMessage(`{}`), Source: source, Unusable: &reason, Do: &do,
	}
	s.named(name, agent)
}

func (s *survey) named(name string, agent *parley.Agent) {
	if by := s.agents[name]; len(by) < maxNamedBy && !slices.Contains(by, agent.Slug) {
		s.agents[name] = append(by, agent.Slug)
	}
}

// faulty reports whether an agent's entry names tools that have faults, and notes the agent under each of them.
func (s *survey) faulty(agent *parley.Agent, ref parley.ToolRef) (found bool) {
	prefix, pattern := ref.Pattern()
	for _, fault := range s.faults {
		server, whole := fault.Server()
		concerns := ref.Offers(fault.Name)
		if whole {
			concerns = strings.HasPrefix(ref.Name, server) || pattern && strings.HasPrefix(server, prefix)
		}
		if concerns {
			s.named(fault.Name, agent)
			found = true
		}
	}
	return found
}

// has reports whether an entry matches a tool, or may match one of a server that has not answered yet.
func (s *survey) has(ref parley.ToolRef) bool {
	if s.tools == nil {
		return false
	}
	prefix, pattern := ref.Pattern()
	if !pattern {
		_, ok := s.tools.Tool(ref.Name)
		return ok || s.tools.Expects(ref.Name)
	}
	return s.tools.Expects(prefix) || slices.ContainsFunc(s.tools.Tools(), func(t tool.Tool) bool {
		return strings.HasPrefix(t.Definition().Name, prefix)
	})
}

// infos returns the entries of what cannot be used.
func (s *survey) infos() (infos []ToolInfo) {
	for _, fault := range s.faults {
		infos = append(infos, ToolInfo{
			Name: fault.Name, Parameters: json.RawMessage(`{}`), Source: fault.Source,
			Unusable: &fault.Reason, Do: &fault.Do,
		})
	}
	for _, absent := range s.absent {
		infos = append(infos, absent)
	}
	for i := range infos {
		infos[i].Agents = append([]string{}, s.agents[infos[i].Name]...)
	}
	return infos
}
