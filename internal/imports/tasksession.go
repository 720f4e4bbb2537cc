package imports

import (
	"encoding/json"

	"example.org/parley"
)

// The file nodes/TASK/session.json of a developer's agent: {"taskId", "agentId", "status", "startedAt", "completedAt?",
// "messages": [{timestamp, direction, type, content, metadata?: {toolName, toolInput, toolResult}}]}. The direction
// says who speaks: harness_to_task is the user, task_to_harness the agent.

// taskType is the type of the sessions that session.json becomes.
const taskType = "dev-task"

func isTaskSession(f *file) bool { return f.has("messages", '[') && f.has("taskId", '"') }

func readTaskSession(f *file) ([]Session, error) {
	messages, err := f.list("messages")
	if err != nil {
		return nil, err
	}
	top := members{f, "", f.top}
	top.take("messages")
	s := Session{Type: taskType}
	if s.Task, err = top.text("taskId", parley.MaxKeyBytes); err != nil {
		return nil, err
	}
	if s.Feature, err = top.text("featureId", parley.MaxKeyBytes); err != nil {
		return nil, err
	}
	if s.Feature == "" {
		s.Feature = between(f.name, ".dagent-worktrees")
	}
	agent, err := top.text("agentId", parley.MaxNameBytes)
	if err != nil {
		return nil, err
	}
	status, err := top.text("status", parley.MaxNameBytes)
	if err != nil {
		return nil, err
	}
	switch status {
	case "", "active", "completed", "paused":
		s.Status = parley.SessionCompleted
	case "failed":
		s.Status = parley.SessionFailed
	default:
		return nil, f.wrong("/status", "%q is not one of active, completed, failed, paused", parley.Clip(status, 32))
	}
	if status == "active" || status == "paused" {
		s.Leave("/status", "the work was "+status+"; nothing goes on until somebody writes")
	}
	started, err := top.time("startedAt", 0)
	if err != nil {
		return nil, err
	}
	completed, err := top.time("completedAt", 0)
	if err != nil {
		return nil, err
	}
	last := started
	for i, raw := range messages {
		entry, err := readTold(f, at("messages", i), raw, last, agent)
		if err != nil {
			return nil, err
		}
		last = entry.at
		if err := s.add(f, entry); err != nil {
			return nil, err
		}
	}
	if err := s.keep(top); err != nil {
		return nil, err
	}
	s.Key = key(s.Type, s.Feature, s.Task)
	s.Identity = s.Key
	if s.Feature == "" { // tasks of two features may have one number
		s.Identity = ""
	}
	s.end(started, completed)
	return []Session{s}, nil
}

// readTold reads one message.
func readTold(f *file, pointer string, raw json.RawMessage, last parley.Time, agent string) (*said, error) {
	m, err := f.members(pointer, raw)
	if err != nil {
		return nil, err
	}
	entry := &said{pointer: pointer, agent: agent}
	direction, err := m.text("direction", parley.MaxNameBytes)
	if err != nil {
		return nil, err
	}
	switch direction {
	case "harness_to_task":
		entry.role = parley.RoleUser
	case "task_to_harness":
		entry.role = parley.RoleAssistant
	default:
		return nil, f.wrong(
			pointer+"/direction",
			"%q is not one of harness_to_task, task_to_harness",
			parley.Clip(direction, 32),
		)
	}
	if entry.text, err = m.textOf("content"); err != nil {
		return nil, err
	}
	if entry.at, err = m.time("timestamp", last); err != nil {
		return nil, err
	}
	if entry.at == 0 {
		return nil, f.wrong(pointer+"/timestamp", "is missing; give the time at which this was said")
	}
	if meta, err := readToldTool(m); err != nil {
		return nil, err
	} else if meta != nil {
		entry.tool = meta
	}
	entry.beside, err = m.rest()
	return entry, err
}

// readToldTool takes the tool of a message's metadata; what else the metadata has stays there.
func readToldTool(m members) (*toolUse, error) {
	raw := m.left["metadata"]
	if len(raw) == 0 || raw[0] != '{' {
		return nil, nil
	}
	meta, err := m.members(m.pointer+"/metadata", raw)
	if err != nil {
		return nil, err
	}
	if meta.left["toolName"] == nil {
		return nil, nil
	}
	use := &toolUse{}
	if use.name, err = meta.text("toolName", parley.MaxNameBytes); err != nil || use.name == "" {
		return nil, err
	}
	use.input, use.result = meta.take("toolInput"), meta.take("toolResult")
	if m.left["metadata"], err = meta.rest(); m.left["metadata"] == nil {
		delete(m.left, "metadata")
	}
	return use, err
}
