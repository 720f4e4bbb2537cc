package parley

// The bounds of foreign ids.
const (
	MaxForeignIDBytes    = 256
	MaxForeignIDsAtOnce  = 256 // in one question, or one write
	MaxForeignCandidates = 8   // sessions that one foreign id is answered with
)

// ForeignID is a name that another protocol's client has for something in a session: a conversation's id, or the hash
// of the history that it sends again. It is private to the principal, and goes with the session. Several sessions may
// have the same one.
type ForeignID struct {
	WorkspaceID ID     `json:"workspace_id"`
	Protocol    string `json:"protocol"`
	PrincipalID ID     `json:"principal_id"`
	Name        string `json:"foreign_id"`
	SessionID   ID     `json:"session_id"`
	TargetID    ID     `json:"target_id"` // a message or a turn of the session; zero for the session itself
	CreatedAt   Time   `json:"created_at"`
}

// Validate reports the field that breaks a rule.
func (f *ForeignID) Validate() error {
	if f.Name == "" || f.Protocol == "" {
		return InvalidField("foreign_id", "must not be empty")
	}
	if err := CheckText("protocol", f.Protocol, MaxNameBytes); err != nil {
		return err
	}
	return CheckText("foreign_id", f.Name, MaxForeignIDBytes)
}
