package prompt

import (
	"encoding/json"

	"parley"
)

// Settings are the effective settings of a turn (D2).
type Settings struct {
	Model      parley.ModelID
	Parameters parley.Parameters
	System     string // rendered
	Tools      []parley.ToolRef
	Policy     parley.Policy
	Retry      parley.RetryPolicy
	Think      bool
	Search     bool
}

// Resolve finds what holds for the turn of a trigger message: message over
// session over agent, field by field; the server's fallback model when none
// names one (A4). CodeInvalid when the model that was found is no model id, or the
// system prompt is too long once it is filled in.
func Resolve(agent parley.Agent, session parley.Session, project *parley.Project, trigger parley.Message, fallback parley.ModelID) (Settings, error) {
	s := Settings{
		Model:      nearest(trigger.Overrides.Model, session.Model, agent.Model, fallback),
		Parameters: trigger.Overrides.Parameters.Over(session.Overrides.Parameters).Over(agent.Parameters),
		Tools:      agent.Tools,
		Policy:     session.DefaultPolicy(),
		Retry:      agent.Retry,
	}
	if err := s.Model.Validate(); err != nil {
		return Settings{}, err
	}
	template := agent.SystemPrompt
	for _, scope := range []*parley.Overrides{&session.Overrides, &trigger.Overrides} { // wider first
		if scope.SystemPrompt != nil {
			template = *scope.SystemPrompt
		}
		if scope.Tools != nil {
			s.Tools = *scope.Tools
		}
	}
	for _, policy := range []*parley.Policy{agent.Policy, session.Policy} { // wider first
		if policy != nil {
			s.Policy = *policy
		}
	}
	if session.Retry != nil {
		s.Retry = session.Retry.Over(agent.Retry)
	}
	var err error
	if s.System, err = render(template, subject{agent: &agent, session: &session, project: project}); err != nil {
		return Settings{}, err
	}
	if session.Instructions != "" {
		if s.System != "" {
			s.System += "\n\n"
		}
		s.System += session.Instructions
	}
	if trigger.Role == parley.RoleUser {
		var content parley.UserContent
		if json.Unmarshal(trigger.Content, &content) == nil { // unreadable asks for nothing
			s.Think, s.Search = content.Think, content.Search
		}
	}
	return s, nil
}

// nearest is the first id that is set.
func nearest(ids ...parley.ModelID) parley.ModelID {
	for _, id := range ids {
		if id != "" {
			return id
		}
	}
	return ""
}
