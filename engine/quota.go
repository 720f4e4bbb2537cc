package engine

import "example.org/parley"

// sessionsQuota bounds the sessions that a principal creates or forks.
func (e *Engine) sessionsQuota(principal parley.Principal) parley.Quota {
	return parley.Quota{Workspace: e.quotas.sessions, Principal: principal.MaxSessions}
}

// storageQuota bounds the files that a principal uploads.
func (e *Engine) storageQuota(principal parley.Principal) parley.Quota {
	return parley.Quota{Workspace: e.quotas.storage, Principal: principal.MaxStorage}
}
