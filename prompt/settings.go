package prompt

import (
	"cmp"

	"example.org/parley"
	"example.org/parley/setting"
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
	Output     *parley.Output
}

// Resolve finds the settings of a trigger message's turn: the message's, else the session's, else the agent's, field by
// field; and the server's fallback model if none names one (A4). It returns CodeInvalid if the model's id is invalid,
// or the system prompt is too long with its placeholders filled in.
func Resolve(
	agent parley.Agent,
	session parley.Session,
	project *parley.Project,
	trigger parley.Message,
	fallback parley.ModelID,
) (Settings, error) {
	set := setting.Effective(trigger.Settings, &session.Settings, &agent.Settings)
	s := Settings{
		Model: cmp.Or(set.Model, fallback), Parameters: set.Parameters, Tools: parley.ValueOf(set.Tools),
		Policy: session.DefaultPolicy(), Retry: parley.ValueOf(set.Retry),
		Output: set.Output,
	}
	if err := s.Model.Validate(); err != nil {
		return Settings{}, err
	}
	if set.Policy != nil {
		s.Policy = *set.Policy
	}
	var err error
	if s.System, err = render(
		parley.ValueOf(set.SystemPrompt),
		subject{agent: &agent, session: &session, project: project},
	); err != nil {
		return Settings{}, err
	}
	if session.Instructions != "" {
		if s.System != "" {
			s.System += "\n\n"
		}
		s.System += session.Instructions
	}
	if trigger.Role == parley.RoleUser {
		s.Think, s.Search = parley.Wishes(trigger.Content)
	}
	return s, nil
}
