package parley

// A row's Size counts its texts from outside, in bytes: they make a page of a list large. A page ends with the row that
// reaches MaxPageBytes; MaxPage bounds what is fixed in size.

// Size returns the size of an agent.
func (a Agent) Size() int {
	return len(a.Name) + len(a.Description) + textsSize(a.Tags) + a.Settings.size()
}

// Size returns the size of a session, without its messages.
func (s Session) Size() int {
	return len(s.Title) + len(s.Type) + len(s.Feature) + len(s.Task) + len(s.Key) +
		len(s.Instructions) + len(s.Metadata) + textsSize(s.Tags) + s.Settings.size()
}

// Size returns the size of an approval.
func (a Approval) Size() int {
	n := len(a.ToolCallID) + len(a.ToolName) + len(a.Arguments) + len(a.Comment) + len(a.Digest) + len(a.Answer) +
		len(a.Carried)
	if q := a.Question; q != nil {
		n += len(q.Message) + len(ValueOf(q.Schema)) + len(q.URL)
	}
	return n
}

// Size returns the size of a turn.
func (t Turn) Size() int { return t.Error.size() + len(ValueOf(t.Cancelled).By) }

// Size returns the size of a call, without its manifest, which has a bound of its own.
func (c Call) Size() int { return c.Error.size() + c.Parameters.size() }

// Size returns the size of a loop.
func (l Loop) Size() int {
	n := len(l.Prompt) + len(l.Reason)
	if l.Until != nil {
		n += len(l.Until.ToolCalled) + len(l.Until.TextMatches) + len(l.Until.Schema)
	}
	return n
}

func (s *Settings) size() int {
	n := s.Middleware.size() + s.Compaction.size() + s.Parameters.size() + len(ValueOf(s.CacheTTL))
	if s.SystemPrompt != nil {
		n += len(*s.SystemPrompt)
	}
	if o := s.Output; o != nil {
		n += len(o.Name) + len(ValueOf(o.Schema))
	}
	if s.Tools != nil {
		n += toolsSize(*s.Tools)
	}
	if s.Grants != nil {
		n += grantsSize(*s.Grants)
	}
	return n
}

func (p *Parameters) size() (n int) {
	n = len(ValueOf(p.ToolChoice)) + len(ValueOf(p.EndUser)) + len(ValueOf(p.ServiceTier))
	if f := p.ResponseFormat; f != nil {
		n += len(f.Type) + len(f.Name) + len(ValueOf(f.Schema))
	}
	for _, stop := range ValueOf(p.Stop) {
		n += len(stop)
	}
	for key, value := range ValueOf(p.RequestMetadata) {
		n += len(key) + len(value)
	}
	return n
}

func (f *Failure) size() int {
	if f == nil {
		return 0
	}
	return len(f.Sentence) + len(f.Detail)
}

func (s *MiddlewareSettings) size() (n int) {
	if s == nil {
		return 0
	}
	if s.UserContext != nil {
		n += textsSize(*s.UserContext)
	}
	if s.Redact != nil {
		for _, pattern := range *s.Redact {
			n += len(pattern.Name) + len(pattern.Pattern)
		}
	}
	return n
}

func (s *CompactionSettings) size() int {
	if s == nil {
		return 0
	}
	return len(s.Model) + len(s.Instructions)
}

func textsSize[T ~string](texts []T) (n int) {
	for _, text := range texts {
		n += len(text)
	}
	return n
}

func toolsSize(tools []ToolRef) (n int) {
	for _, ref := range tools {
		n += len(ref.Name)
		if d := ref.Definition; d != nil {
			n += len(d.Name) + len(d.Description) + len(d.Parameters)
		}
		if a := ref.Agent; a != nil {
			n += len(a.Name) + len(a.Description) + len(a.Agent) + len(a.Instructions) + len(a.Parameters)
		}
	}
	return n
}

func grantsSize(grants []Grant) (n int) {
	for i := range grants {
		n += len(grants[i].Tool)
		for name, pattern := range grants[i].Arguments {
			n += len(name) + len(pattern)
		}
	}
	return n
}

// Size is the size of an item's texts.
func (i InboxItem) Size() int {
	return len(i.Title) + len(i.Summary) + len(i.Citations)*inboxCitationSize
}

// inboxCitationSize is what a citation takes in JSON.
const inboxCitationSize = 160

// Size is the size of a delegation's texts.
func (d Delegation) Size() int { return len(d.Text) + len(d.Reason) }
