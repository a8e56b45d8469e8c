package metrics

import (
	"time"

	"callgate/internal/exposition"
)

// moment writes what is as it is now.
func (m *Metrics) moment(w exposition.Writer) {
	o := &m.o
	w.Gauge("callgate_build_info", "Which callgate this is.", 1, "version", o.Version)
	w.Gauge("callgate_sessions", "Hosts that are connected.", float64(len(o.Gate.Sessions())))
	w.Gauge("callgate_pending_approvals", "Approvals that wait for a person.", float64(len(o.Gate.Pending())))
	if o.Audit != nil {
		w.Gauge("callgate_audit_unsynced_seconds", "Age of the oldest record that the operating system has and the disk may not have.", o.Audit.Unsynced().Seconds())
	}
	if o.Upstreams != nil {
		for _, u := range o.Upstreams() {
			state := 0.0
			if u.Up {
				state = 1
			}
			w.Gauge("callgate_upstream_up", "1 when the server is ready for any host.", state, "upstream", u.Name)
			w.Gauge("callgate_upstream_tools", "Tools that the server offers.", float64(u.Tools), "upstream", u.Name)
		}
	}
	if o.Cluster != nil {
		c := o.Cluster()
		fresh := 0.0
		if c.Fresh {
			fresh = 1
		}
		w.Gauge("callgate_cluster_replicas", "Replicas of the cluster by state: up or silent.", float64(c.Up), "state", "up")
		w.Gauge("callgate_cluster_replicas", "Replicas of the cluster by state: up or silent.", float64(c.Silent), "state", "silent")
		w.Gauge("callgate_cluster_fresh", "1 while this replica hears from its cluster; else it denies every call.", fresh)
		w.Gauge("callgate_cluster_pending_approvals", "Approvals that wait in the whole cluster.", float64(c.Pending))
		w.Gauge("callgate_cluster_trail_behind_seconds", "Age of the oldest record that the cluster has not, as far as it could be sent.", c.Behind.Seconds())
	}
	if o.Config != nil {
		c := o.Config()
		w.Counter("callgate_config_reloads_total", "Changed configurations by what became of them: taken or refused.", float64(c.Taken), "result", "taken")
		w.Counter("callgate_config_reloads_total", "Changed configurations by what became of them: taken or refused.", float64(c.Refused), "result", "refused")
		w.Gauge("callgate_config_waiting_settings", "Changed settings that take effect after a restart.", float64(c.Waiting))
	}
	if o.Exports != nil {
		for _, e := range o.Exports() {
			w.Counter("callgate_export_records_total", "Records of the audit trail sent to a receiver.", float64(e.Sent), "export", e.Name)
			w.Gauge("callgate_export_behind_bytes", "Bytes of the audit trail that the receiver has not for sure. The process that sends says it.", float64(e.Behind), "export", e.Name)
		}
	}
	for _, h := range o.Hooks.List(nil) {
		w.Counter("callgate_hook_runs_total", "Runs of the hook, and attempts of a webhook.", float64(h.Runs), "hook", h.Name)
		w.Counter("callgate_hook_failures_total", "Runs that failed, and events that were lost.", float64(h.Failures), "hook", h.Name)
		if h.Queue != nil {
			w.Gauge("callgate_webhook_queue_events", "Events that wait to be posted, in all processes of the worker.", float64(h.Queue.Events), "hook", h.Name)
			age := 0.0
			if h.Queue.Oldest != nil {
				age = max(0, time.Since(*h.Queue.Oldest).Seconds())
			}
			w.Gauge("callgate_webhook_queue_oldest_seconds", "How long the oldest of them waits.", age, "hook", h.Name)
		}
	}
}
