// Package editor serves an editor that speaks the Agent Client Protocol: Parley is its agent. It sits between the
// editor's streams and a running server, of which it is an ordinary client, and keeps nothing: the editor's sessions
// are Parley's sessions, and the record is authoritative. What must be remembered of a session between two runs of this
// program stands in the session's metadata, in the member acp.
//
// The turn goes on at the server whatever becomes of the editor or of this program. If the server goes away, requests
// and streams are taken up again when it is back.
package editor
