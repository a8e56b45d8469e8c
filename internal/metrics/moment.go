package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// moment collects the current state when it is scraped.
type moment struct{ m *Metrics }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	build      = describe("callgate_build_info", "Which callgate this is.", "version")
	sessions   = describe("callgate_sessions", "Hosts that are connected.")
	pending    = describe("callgate_pending_approvals", "Approvals that wait for a person.")
	up         = describe("callgate_upstream_up", "1 when the server is ready for any host.", "upstream")
	tools      = describe("callgate_upstream_tools", "Tools that the server offers.", "upstream")
	unsynced   = describe("callgate_audit_unsynced_seconds", "Age of the oldest record that the operating system has and the disk may not have.")
	hookRuns   = describe("callgate_hook_runs_total", "Runs of the hook, and attempts of a webhook.", "hook")
	hookFailed = describe("callgate_hook_failures_total", "Runs that failed, and events that were lost.", "hook")
	queued     = describe("callgate_webhook_queue_events", "Events that wait to be posted, in all processes of the worker.", "hook")
	live       = describe("callgate_cluster_replicas", "Replicas of the cluster by state: up or silent.", "state")
	current    = describe("callgate_cluster_fresh", "1 while this replica hears from its cluster; else it denies every call.")
	waiting    = describe("callgate_cluster_pending_approvals", "Approvals that wait in the whole cluster.")
	untold     = describe("callgate_cluster_trail_behind_seconds", "Age of the oldest record that could be sent to the cluster but is not there yet.")
	reloads    = describe("callgate_config_reloads_total", "Changed configurations by result: taken or refused.", "result")
	restart    = describe("callgate_config_waiting_settings", "Changed settings that take effect after a restart.")
	exported   = describe("callgate_export_records_total", "Records of the audit trail sent to a receiver.", "export")
	unsent     = describe("callgate_export_behind_bytes", "Bytes of the audit trail that the receiver has not confirmed. Only the sending process reports it.", "export")
	queuedFor  = describe("callgate_webhook_queue_oldest_seconds", "How long the oldest of them waits.", "hook")
)

// Describe sends the descriptions of all metrics that Collect may send.
func (c moment) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{build, sessions, pending, up, tools, unsynced, hookRuns, hookFailed, queued, queuedFor, live, current, waiting, untold, reloads, restart, exported, unsent} {
		out <- d
	}
}

// Collect sends the current values.
func (c moment) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
	}
	o := &c.m.o
	gauge(build, 1, o.Version)
	gauge(sessions, float64(len(o.Gate.Sessions())))
	gauge(pending, float64(len(o.Gate.Pending())))
	if o.Audit != nil {
		gauge(unsynced, o.Audit.Unsynced().Seconds())
	}
	if o.Upstreams != nil {
		for _, u := range o.Upstreams() {
			state := 0.0
			if u.Up {
				state = 1
			}
			gauge(up, state, u.Name)
			gauge(tools, float64(u.Tools), u.Name)
		}
	}
	if o.Cluster != nil {
		c := o.Cluster()
		fresh := 0.0
		if c.Fresh {
			fresh = 1
		}
		gauge(live, float64(c.Up), "up")
		gauge(live, float64(c.Silent), "silent")
		gauge(current, fresh)
		gauge(waiting, float64(c.Pending))
		gauge(untold, c.Behind.Seconds())
	}
	if o.Config != nil {
		c := o.Config()
		counter(reloads, int(c.Taken), "taken")
		counter(reloads, int(c.Refused), "refused")
		gauge(restart, float64(c.Waiting))
	}
	if o.Exports != nil {
		for _, e := range o.Exports() {
			counter(exported, int(e.Sent), e.Name)
			gauge(unsent, float64(e.Behind), e.Name)
		}
	}
	for _, h := range o.Hooks.List(nil) {
		counter(hookRuns, h.Runs, h.Name)
		counter(hookFailed, h.Failures, h.Name)
		if h.Queue != nil {
			gauge(queued, float64(h.Queue.Events), h.Name)
			age := 0.0
			if h.Queue.Oldest != nil {
				age = max(0, time.Since(*h.Queue.Oldest).Seconds())
			}
			gauge(queuedFor, age, h.Name)
		}
	}
}

var _ prometheus.Collector = moment{}
