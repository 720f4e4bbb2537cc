package imports

import "example.org/parley"

// The file sessions/ID.json of the same programs' later conversation store: {"id", "type", "featureId", "taskId?",
// "createdAt", "updatedAt", "status", "messages": [{id, timestamp, role, content, metadata?}], "stats"}.

func isConversation(f *file) bool {
	return f.has("messages", '[') && f.has("type", '"') && f.has("featureId", '"')
}

func readConversation(f *file) ([]Session, error) {
	messages, err := f.list("messages")
	if err != nil {
		return nil, err
	}
	top := members{f, "", f.top}
	top.take("messages")
	top.take("stats") // counted anew
	s := Session{}
	for _, field := range []struct {
		name string
		to   *string
	}{{"id", &s.Identity}, {"type", &s.Type}, {"featureId", &s.Feature}, {"taskId", &s.Task}} {
		if *field.to, err = top.text(field.name, parley.MaxKeyBytes); err != nil {
			return nil, err
		}
	}
	status, err := top.text("status", parley.MaxNameBytes)
	if err != nil {
		return nil, err
	}
	s.Archived = status == "archived"
	if status != "" && status != "active" && !s.Archived {
		return nil, f.wrong("/status", "%q is not one of active, archived", parley.Clip(status, 32))
	}
	if err := s.readRest(f, "messages", messages, top); err != nil {
		return nil, err
	}
	s.Key = key(s.Type, s.Feature, s.Task)
	if s.Identity == "" {
		s.Identity = s.Key
	}
	return []Session{s}, nil
}
