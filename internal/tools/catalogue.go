package tools

import (
	"maps"
	"slices"

	"callgate/permissions"
)

// entry is what the catalogue knows of one tool: its kind, the role of every argument that it takes, and
// what the kind does not say.
type entry struct {
	kind     string
	roles    roles
	risk     permissions.Risk // of a tool without kind; at least this for one with a kind
	category string           // of a tool without kind
	remote   bool             // paths and commands are another machine's: rules for this one only tighten
}

type roles map[string]Role

// Own lists callgate's own tools by the names that callgate gives them, whether the configuration offers them or not.
func Own() []string { return slices.Sorted(maps.Keys(catalogue["callgate"])) }

// catalogue holds well-known servers by package name, as a configured command or URL names it. An entry
// MUST list every argument of the tool: one that is missing makes the call ask. A tool that is missing is
// judged as if nobody knew it.
var catalogue = map[string]map[string]entry{
	// callgate's own tools. No configured server can name this package.
	"callgate": {
		// What they read is held against the rules for read_file, file by file, where it is read.
		"search":     {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"query": Plain, "path": Plain, "language": Plain, "kind": Plain, "limit": Plain, "maxTokens": Plain}},
		"kb_search":  {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"query": Plain, "limit": Plain, "threshold": Plain, "maxTokens": Plain}},
		"kb_list":    {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"maxTokens": Plain}},
		"kb_add":     {risk: permissions.Write, category: CategoryWrite, roles: roles{"content": Plain, "metadata": Plain}},
		"kb_remove":  {risk: permissions.Destructive, category: CategoryWrite, roles: roles{"documentId": Plain}},
		"find_tools": {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"query": Plain, "limit": Plain}},
		// Which files it writes is judged where it writes them: only such as a call of the same session left.
		"rollback_checkpoint": {risk: permissions.Write, category: CategoryWrite, roles: roles{"id": Plain, "paths": Plain}},
	},

	"callgate-demo": {
		"read_file":  {kind: KindReadFile, roles: roles{"path": ReadPath}},
		"write_file": {kind: KindWriteFile, roles: roles{"path": WritePath, "content": Plain}},
		"edit_file":  {kind: KindEditFile, roles: roles{"path": WritePath, "old_text": Plain, "new_text": Plain}},
		"glob":       {kind: KindGlob, roles: roles{"pattern": PatternPath, "path": ListFolder}},
		"grep":       {kind: KindGrep, roles: roles{"pattern": Plain, "path": ReadFolder}},
		"shell_exec": {kind: KindShell, roles: roles{"command": Command, "timeout_seconds": Plain}},
	},

	"@modelcontextprotocol/server-filesystem": {
		"read_file":                 {kind: KindReadFile, roles: roles{"path": ReadPath, "head": Plain, "tail": Plain}},
		"read_text_file":            {kind: KindReadFile, roles: roles{"path": ReadPath, "head": Plain, "tail": Plain}},
		"read_media_file":           {kind: KindReadFile, roles: roles{"path": ReadPath}},
		"read_multiple_files":       {kind: KindReadFile, roles: roles{"paths": ReadPath}},
		"write_file":                {kind: KindWriteFile, roles: roles{"path": WritePath, "content": Plain}},
		"edit_file":                 {kind: KindEditFile, roles: roles{"path": WritePath, "edits": Plain, "dryRun": Plain}},
		"create_directory":          {kind: KindWriteFile, roles: roles{"path": WritePath}},
		"list_directory":            {kind: KindGlob, roles: roles{"path": ListFolder}},
		"list_directory_with_sizes": {kind: KindGlob, roles: roles{"path": ListFolder, "sortBy": Plain}},
		"directory_tree":            {kind: KindGlob, roles: roles{"path": ListFolder, "excludePatterns": Plain}},
		"move_file":                 {kind: KindMoveFile, roles: roles{"source": DeletePath, "destination": WritePath}},
		"search_files":              {kind: KindGlob, roles: roles{"path": ReadFolder, "pattern": PatternPath, "excludePatterns": Plain}},
		"get_file_info":             {kind: KindReadFile, roles: roles{"path": ReadPath}},
		"list_allowed_directories":  {risk: permissions.ReadOnly, category: CategoryRead},
	},

	"@modelcontextprotocol/server-everything": {
		"echo":                           {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"message": Plain}},
		"get-annotated-message":          {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"messageType": Plain, "includeImage": Plain}},
		"get-env":                        {risk: permissions.Unknown, category: CategoryRead}, // shows the secrets of its environment
		"get-resource-links":             {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"count": Plain}},
		"get-resource-reference":         {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"resourceType": Plain, "resourceId": Plain}},
		"get-structured-content":         {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"location": Plain}},
		"get-sum":                        {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"a": Plain, "b": Plain}},
		"get-tiny-image":                 {risk: permissions.ReadOnly, category: CategoryRead},
		"get-roots-list":                 {risk: permissions.ReadOnly, category: CategoryRead},
		"gzip-file-as-resource":          {kind: KindFetch, roles: roles{"name": Plain, "data": URL, "outputType": Plain}},
		"toggle-simulated-logging":       {risk: permissions.ReadOnly, category: CategoryRead},
		"toggle-subscriber-updates":      {risk: permissions.ReadOnly, category: CategoryRead},
		"trigger-long-running-operation": {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"duration": Plain, "steps": Plain}},
		"trigger-elicitation-request":    {risk: permissions.ReadOnly, category: CategoryRead},
		"trigger-sampling-request":       {risk: permissions.Network, category: CategoryNetwork, roles: roles{"prompt": Plain, "maxTokens": Plain}},
		"simulate-research-query":        {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"topic": Plain, "ambiguous": Plain}},
	},

	"@modelcontextprotocol/server-memory": {
		"create_entities":     {risk: permissions.Write, category: CategoryWrite, roles: roles{"entities": Plain}},
		"create_relations":    {risk: permissions.Write, category: CategoryWrite, roles: roles{"relations": Plain}},
		"add_observations":    {risk: permissions.Write, category: CategoryWrite, roles: roles{"observations": Plain}},
		"delete_entities":     {risk: permissions.Destructive, category: CategoryWrite, roles: roles{"entityNames": Plain}},
		"delete_observations": {risk: permissions.Destructive, category: CategoryWrite, roles: roles{"deletions": Plain}},
		"delete_relations":    {risk: permissions.Destructive, category: CategoryWrite, roles: roles{"relations": Plain}},
		"read_graph":          {risk: permissions.ReadOnly, category: CategoryRead},
		"search_nodes":        {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"query": Plain}},
		"open_nodes":          {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"names": Plain}},
	},

	"@modelcontextprotocol/server-sequential-thinking": {
		"sequentialthinking": {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{
			"thought": Plain, "nextThoughtNeeded": Plain, "thoughtNumber": Plain, "totalThoughts": Plain, "isRevision": Plain,
			"revisesThought": Plain, "branchFromThought": Plain, "branchId": Plain, "needsMoreThoughts": Plain}},
	},

	"@wonderwhy-er/desktop-commander": {
		"get_config": {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"origin": Plain}},
		// The server's own allow and deny lists are values of its configuration.
		"set_config_value": {risk: permissions.Destructive, category: CategoryTerminalWrite, roles: roles{"key": Plain, "value": Plain, "origin": Plain}},
		"read_file": {kind: KindReadFile, roles: roles{"path": ReadPath, "isUrl": Plain, "offset": Plain, "length": Plain,
			"sheet": Plain, "range": Plain, "options": Plain, "origin": Plain}},
		"read_multiple_files": {kind: KindReadFile, roles: roles{"paths": ReadPath}},
		"write_file":          {kind: KindWriteFile, roles: roles{"path": WritePath, "content": Plain, "mode": Plain, "origin": Plain}},
		"write_pdf":           {kind: KindWriteFile, roles: roles{"path": WritePath, "outputPath": WritePath, "content": Plain, "options": Plain}},
		"create_directory":    {kind: KindWriteFile, roles: roles{"path": WritePath}},
		"list_directory":      {kind: KindGlob, roles: roles{"path": ListFolder, "depth": Plain, "origin": Plain}},
		"move_file":           {kind: KindMoveFile, roles: roles{"source": DeletePath, "destination": WritePath}},
		"start_search": {kind: KindGrep, roles: roles{"path": ReadFolder, "pattern": Plain, "searchType": Plain, "filePattern": PatternPath,
			"ignoreCase": Plain, "maxResults": Plain, "includeHidden": Plain, "contextLines": Plain, "timeout_ms": Plain,
			"earlyTermination": Plain, "literalSearch": Plain, "origin": Plain}},
		"get_more_search_results": {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"sessionId": Plain, "offset": Plain, "length": Plain}},
		"stop_search":             {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"sessionId": Plain}},
		"list_searches":           {risk: permissions.ReadOnly, category: CategoryRead},
		"get_file_info":           {kind: KindReadFile, roles: roles{"path": ReadPath}},
		"edit_block": {kind: KindEditFile, roles: roles{"file_path": WritePath, "old_string": Plain, "new_string": Plain,
			"expected_replacements": Plain, "range": Plain, "content": Plain, "options": Plain, "origin": Plain}},
		"start_process": {kind: KindShell, roles: roles{"command": Command, "shell": Shell, "timeout_ms": Plain,
			"verbose_timing": Plain, "origin": Plain}},
		"read_process_output": {risk: permissions.ReadOnly, category: CategoryTerminalRead, roles: roles{"pid": Plain, "timeout_ms": Plain,
			"offset": Plain, "length": Plain, "verbose_timing": Plain}},
		"interact_with_process": {kind: KindProcessInput, roles: roles{"pid": Plain, "input": Input, "timeout_ms": Plain,
			"wait_for_prompt": Plain, "verbose_timing": Plain}},
		"force_terminate":                    {risk: permissions.Destructive, category: CategoryTerminalWrite, roles: roles{"pid": Plain}},
		"list_sessions":                      {risk: permissions.ReadOnly, category: CategoryTerminalRead},
		"list_processes":                     {risk: permissions.ReadOnly, category: CategoryTerminalRead},
		"kill_process":                       {risk: permissions.Destructive, category: CategoryTerminalWrite, roles: roles{"pid": Plain}},
		"get_usage_stats":                    {risk: permissions.ReadOnly, category: CategoryRead},
		"get_recent_tool_calls":              {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"maxResults": Plain, "toolName": Plain, "since": Plain}},
		"give_feedback_to_desktop_commander": {risk: permissions.Network, category: CategoryNetwork},
		"get_prompts":                        {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"action": Plain, "promptId": Plain}},
	},

	"mcp-server-commands": {
		"run_command": {kind: KindShell, roles: roles{"command": Command, "workdir": Dir, "cwd": Dir, "stdin": Input}},
	},

	"@agent-infra/mcp-server-commands": {
		"run_command": {kind: KindShell, roles: roles{"command": Command, "cwd": Dir}},
		"run_script":  {kind: KindShell, roles: roles{"interpreter": Shell, "script": Code, "cwd": Dir}},
	},

	"@mako10k/mcp-shell-server": {
		"shell_execute": {kind: KindShell, roles: roles{"command": Command, "comment": Plain, "execution_mode": Plain,
			"working_directory": Dir, "environment_variables": Env, "input_data": Input, "input_output_id": Input,
			"timeout_seconds": Plain, "foreground_timeout_seconds": Plain, "return_partial_on_timeout": Plain,
			"max_output_size": Plain, "capture_stderr": Plain, "session_id": Plain, "create_terminal": Plain,
			"terminal_shell": Shell, "terminal_dimensions": Plain, "force_user_confirm": Plain}},
		"terminal_operate": {kind: KindShell, roles: roles{"terminal_id": Plain, "command": Command, "session_name": Plain,
			"shell_type": Shell, "dimensions": Plain, "working_directory": Dir, "environment_variables": Env, "input": Input,
			"execute": Plain, "control_codes": Plain, "send_to": Plain, "force_input": Plain, "get_output": Plain,
			"output_delay_ms": Plain, "output_lines": Plain, "include_ansi": Plain, "response_level": Plain, "return_terminal_info": Plain}},
		"process_get_execution":     {risk: permissions.ReadOnly, category: CategoryTerminalRead, roles: roles{"execution_id": Plain}},
		"shell_set_default_workdir": {risk: permissions.Write, category: CategoryTerminalWrite, roles: roles{"working_directory": Dir}},
		"list_execution_outputs": {risk: permissions.ReadOnly, category: CategoryTerminalRead, roles: roles{"output_type": Plain,
			"execution_id": Plain, "name_pattern": Plain, "limit": Plain}},
		"read_execution_output": {risk: permissions.ReadOnly, category: CategoryTerminalRead, roles: roles{"output_id": Plain,
			"offset": Plain, "size": Plain, "encoding": Plain}},
		"delete_execution_outputs": {risk: permissions.Destructive, category: CategoryTerminalWrite, roles: roles{"output_ids": Plain, "confirm": Plain}},
		"get_cleanup_suggestions":  {risk: permissions.ReadOnly, category: CategoryTerminalRead, roles: roles{"max_size_mb": Plain, "max_age_hours": Plain, "include_warnings": Plain}},
		"perform_auto_cleanup":     {risk: permissions.Destructive, category: CategoryTerminalWrite, roles: roles{"max_age_hours": Plain, "dry_run": Plain, "preserve_recent": Plain}},
		"terminal_list":            {risk: permissions.ReadOnly, category: CategoryTerminalRead, roles: roles{"session_name_pattern": Plain, "status_filter": Plain, "limit": Plain}},
		"terminal_get_info":        {risk: permissions.ReadOnly, category: CategoryTerminalRead, roles: roles{"terminal_id": Plain}},
		"terminal_close":           {risk: permissions.Destructive, category: CategoryTerminalWrite, roles: roles{"terminal_id": Plain, "save_history": Plain}},
		"command_history_query": {risk: permissions.ReadOnly, category: CategoryTerminalRead, roles: roles{"page": Plain, "page_size": Plain,
			"query": Plain, "command_pattern": Plain, "working_directory": Plain, "safety_classification": Plain, "was_executed": Plain,
			"date_from": Plain, "date_to": Plain, "entry_id": Plain, "analytics_type": Plain, "include_full_details": Plain}},
		// Rewrites the text by which the server judges commands.
		"adjust_criteria": {risk: permissions.Destructive, category: CategoryTerminalWrite, roles: roles{"criteria_text": Plain, "append_mode": Plain, "backup_existing": Plain}},
	},

	"ssh-mcp": {
		"run-command":  {kind: KindShell, remote: true, roles: roles{"command": Command, "profile": Plain, "session": Input, "tty": Plain}},
		"read-command": {kind: KindShell, remote: true, roles: roles{"command": Command, "profile": Plain}},
		"privileged-command": {kind: KindShell, remote: true, risk: permissions.Escalation,
			roles: roles{"command": Command, "profile": Plain}},
		"signal-process":      {risk: permissions.Destructive, category: CategoryNetwork, roles: roles{"pid": Plain, "signal": Plain, "profile": Plain}},
		"open-session":        {kind: KindShell, remote: true, roles: roles{"name": Plain, "type": Plain, "command": Command, "profile": Plain}},
		"close-session":       {risk: permissions.Network, category: CategoryNetwork, roles: roles{"name": Plain, "profile": Plain}},
		"list-sessions":       {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"profile": Plain}},
		"list-connections":    {risk: permissions.ReadOnly, category: CategoryRead},
		"read-session-output": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"name": Plain, "lines": Plain, "profile": Plain}},
		"sftp-list":           {kind: KindGlob, remote: true, roles: roles{"remotePath": ListFolder, "maxEntries": Plain, "profile": Plain}},
		"sftp-upload":         {kind: KindWriteFile, remote: true, roles: roles{"remotePath": WritePath, "content": Plain, "profile": Plain}},
		"sftp-download":       {kind: KindReadFile, remote: true, roles: roles{"remotePath": ReadPath, "profile": Plain}},
	},

	"kubernetes-mcp-server": {
		"configuration_view":  {risk: permissions.Unknown, category: CategoryRead, roles: roles{"minified": Plain}}, // shows credentials
		"events_list":         {risk: permissions.Network, category: CategoryNetwork, roles: roles{"fieldSelector": Plain, "namespace": Plain}},
		"namespaces_list":     {risk: permissions.Network, category: CategoryNetwork, roles: roles{"fieldSelector": Plain}},
		"nodes_log":           {risk: permissions.Network, category: CategoryNetwork, roles: roles{"name": Plain, "query": Plain, "tailLines": Plain}},
		"nodes_stats_summary": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"name": Plain}},
		"nodes_top":           {risk: permissions.Network, category: CategoryNetwork, roles: roles{"label_selector": Plain, "name": Plain}},
		"pods_delete":         {risk: permissions.Destructive, category: CategoryNetwork, roles: roles{"name": Plain, "namespace": Plain}},
		"pods_exec": {kind: KindShell, remote: true, roles: roles{"command": Argv, "container": Plain, "name": Plain,
			"namespace": Plain}},
		"pods_get":  {risk: permissions.Network, category: CategoryNetwork, roles: roles{"name": Plain, "namespace": Plain}},
		"pods_list": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"fieldSelector": Plain, "labelSelector": Plain}},
		"pods_list_in_namespace": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"fieldSelector": Plain,
			"labelSelector": Plain, "namespace": Plain}},
		"pods_log": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"container": Plain, "name": Plain,
			"namespace": Plain, "previous": Plain, "tail": Plain}},
		"pods_run": {risk: permissions.Destructive, category: CategoryNetwork, roles: roles{"image": Plain, "name": Plain,
			"namespace": Plain, "port": Plain}}, // runs whatever the image holds
		"pods_top": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"all_namespaces": Plain,
			"label_selector": Plain, "name": Plain, "namespace": Plain}},
		"projects_list":              {risk: permissions.Network, category: CategoryNetwork},
		"resources_create_or_update": {risk: permissions.Destructive, category: CategoryNetwork, roles: roles{"resource": Plain}},
		"resources_delete": {risk: permissions.Destructive, category: CategoryNetwork, roles: roles{"apiVersion": Plain,
			"gracePeriodSeconds": Plain, "kind": Plain, "name": Plain, "namespace": Plain}},
		"resources_get": {risk: permissions.Unknown, category: CategoryNetwork, roles: roles{"apiVersion": Plain, "kind": Plain,
			"name": Plain, "namespace": Plain}}, // a Secret is a resource
		"resources_list": {risk: permissions.Unknown, category: CategoryNetwork, roles: roles{"apiVersion": Plain, "fieldSelector": Plain,
			"kind": Plain, "labelSelector": Plain, "namespace": Plain}},
		"resources_scale": {risk: permissions.Destructive, category: CategoryNetwork, roles: roles{"apiVersion": Plain, "kind": Plain,
			"name": Plain, "namespace": Plain, "scale": Plain}},
	},

	"mcp-server-git": {
		"git_status":        {risk: permissions.ReadOnly, category: CategoryGitRead, roles: roles{"repo_path": Dir}},
		"git_diff_unstaged": {risk: permissions.ReadOnly, category: CategoryGitRead, roles: roles{"repo_path": Dir, "context_lines": Plain}},
		"git_diff_staged":   {risk: permissions.ReadOnly, category: CategoryGitRead, roles: roles{"repo_path": Dir, "context_lines": Plain}},
		"git_diff":          {risk: permissions.ReadOnly, category: CategoryGitRead, roles: roles{"repo_path": Dir, "target": Revision, "context_lines": Plain}},
		"git_commit":        {risk: permissions.Write, category: CategoryGitWrite, roles: roles{"repo_path": Dir, "message": Plain}},
		"git_add":           {risk: permissions.Write, category: CategoryGitWrite, roles: roles{"repo_path": Dir, "files": Plain}},
		"git_reset":         {risk: permissions.Write, category: CategoryGitWrite, roles: roles{"repo_path": Dir}},
		"git_log": {risk: permissions.ReadOnly, category: CategoryGitRead, roles: roles{"repo_path": Dir, "max_count": Plain,
			"start_timestamp": Plain, "end_timestamp": Plain}},
		"git_create_branch": {risk: permissions.Write, category: CategoryGitWrite, roles: roles{"repo_path": Dir, "branch_name": Revision, "base_branch": Revision}},
		"git_checkout":      {risk: permissions.Write, category: CategoryGitWrite, roles: roles{"repo_path": Dir, "branch_name": Revision}},
		"git_show":          {risk: permissions.ReadOnly, category: CategoryGitRead, roles: roles{"repo_path": Dir, "revision": Revision}},
		"git_branch": {risk: permissions.ReadOnly, category: CategoryGitRead, roles: roles{"repo_path": Dir, "branch_type": Plain,
			"contains": Revision, "not_contains": Revision}},
		"git_init": {risk: permissions.Write, category: CategoryGitWrite, roles: roles{"repo_path": Dir}},
	},

	"mcp-server-fetch": {
		"fetch": {kind: KindFetch, roles: roles{"url": URL, "max_length": Plain, "start_index": Plain, "raw": Plain}},
	},

	"mcp-server-time": {
		"get_current_time": {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"timezone": Plain}},
		"convert_time":     {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"source_timezone": Plain, "time": Plain, "target_timezone": Plain}},
	},

	"mcp-server-sqlite": {
		"read_query":     {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"query": SQL}},
		"write_query":    {risk: permissions.Write, category: CategoryWrite, roles: roles{"query": SQL}},
		"create_table":   {risk: permissions.Write, category: CategoryWrite, roles: roles{"query": SQL}},
		"list_tables":    {risk: permissions.ReadOnly, category: CategoryRead},
		"describe_table": {risk: permissions.ReadOnly, category: CategoryRead, roles: roles{"table_name": Plain}},
		"append_insight": {risk: permissions.Write, category: CategoryWrite, roles: roles{"insight": Plain}},
	},

	"@modelcontextprotocol/server-postgres": {
		"query": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"sql": SQL}},
	},

	"@playwright/mcp": {
		"browser_close":            {risk: permissions.ReadOnly, category: CategoryNetwork},
		"browser_resize":           {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"width": Plain, "height": Plain}},
		"browser_console_messages": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"level": Plain, "all": Plain, "filename": WritePath}},
		"browser_handle_dialog":    {risk: permissions.Network, category: CategoryNetwork, roles: roles{"accept": Plain, "promptText": Plain}},
		"browser_emulate_media": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"colorScheme": Plain, "reducedMotion": Plain,
			"forcedColors": Plain, "contrast": Plain, "media": Plain}},
		"browser_evaluate": {risk: permissions.Unknown, category: CategoryNetwork, roles: roles{"element": Plain, "target": Plain,
			"ref": Plain, "function": Code, "filename": WritePath}},
		"browser_file_upload":      {risk: permissions.Network, category: CategoryNetwork, roles: roles{"paths": ReadPath}},
		"browser_drop":             {risk: permissions.Network, category: CategoryNetwork, roles: roles{"element": Plain, "target": Plain, "paths": ReadPath, "data": Plain}},
		"browser_find":             {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"text": Plain, "regex": Plain, "filename": WritePath}},
		"browser_fill_form":        {risk: permissions.Network, category: CategoryNetwork, roles: roles{"fields": Plain}},
		"browser_press_key":        {risk: permissions.Network, category: CategoryNetwork, roles: roles{"key": Plain}},
		"browser_type":             {risk: permissions.Network, category: CategoryNetwork, roles: roles{"element": Plain, "target": Plain, "ref": Plain, "text": Plain, "submit": Plain, "slowly": Plain}},
		"browser_navigate":         {kind: KindFetch, roles: roles{"url": URL}},
		"browser_navigate_back":    {risk: permissions.Network, category: CategoryNetwork},
		"browser_network_requests": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"static": Plain, "filter": Plain, "filename": WritePath}},
		"browser_network_request":  {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"index": Plain, "part": Plain, "filename": WritePath}},
		"browser_run_code_unsafe":  {risk: permissions.Unknown, category: CategoryNetwork, roles: roles{"code": Code, "filename": ReadPath}},
		"browser_take_screenshot": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"element": Plain, "target": Plain, "ref": Plain,
			"type": Plain, "filename": WritePath, "fullPage": Plain, "scale": Plain}},
		"browser_snapshot": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"target": Plain, "filename": WritePath, "depth": Plain, "boxes": Plain}},
		"browser_click": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"element": Plain, "target": Plain, "ref": Plain,
			"doubleClick": Plain, "button": Plain, "modifiers": Plain}},
		"browser_drag": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"startElement": Plain, "startTarget": Plain,
			"startRef": Plain, "endElement": Plain, "endTarget": Plain, "endRef": Plain}},
		"browser_hover":         {risk: permissions.Network, category: CategoryNetwork, roles: roles{"element": Plain, "target": Plain, "ref": Plain}},
		"browser_select_option": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"element": Plain, "target": Plain, "ref": Plain, "values": Plain}},
		"browser_tabs":          {risk: permissions.Network, category: CategoryNetwork, roles: roles{"action": Plain, "index": Plain, "url": URL}},
		"browser_wait_for":      {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"time": Plain, "text": Plain, "textGone": Plain}},
	},

	"chrome-devtools-mcp": {
		"click":      {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "uid": Plain, "dblClick": Plain, "includeSnapshot": Plain}},
		"close_page": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain}},
		"drag":       {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "from_uid": Plain, "to_uid": Plain, "includeSnapshot": Plain}},
		"evaluate_script": {risk: permissions.Unknown, category: CategoryNetwork, roles: roles{"pageId": Plain, "function": Code, "sourcePath": ReadPath,
			"format": Plain, "args": Plain, "filePath": WritePath, "dialogAction": Plain, "waitForStableDom": Plain}},
		"emulate": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "networkConditions": Plain,
			"cpuThrottlingRate": Plain, "geolocation": Plain, "userAgent": Plain, "colorScheme": Plain, "forcedColors": Plain,
			"prefersContrast": Plain, "prefersReducedMotion": Plain, "viewport": Plain, "extraHttpHeaders": Plain}},
		"fill":                {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "uid": Plain, "value": Plain, "includeSnapshot": Plain}},
		"fill_form":           {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "elements": Plain, "includeSnapshot": Plain}},
		"get_console_message": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "msgid": Plain}},
		"get_css_styles":      {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "uid": Plain, "pageSize": Plain, "pageIdx": Plain}},
		"get_network_request": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "reqid": Plain,
			"requestFilePath": WritePath, "responseFilePath": WritePath}},
		"handle_dialog":    {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "action": Plain, "promptText": Plain}},
		"hover":            {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "uid": Plain, "includeSnapshot": Plain}},
		"lighthouse_audit": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "mode": Plain, "device": Plain, "outputDirPath": WritePath}},
		"list_console_messages": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "pageSize": Plain, "pageIdx": Plain,
			"types": Plain, "includePreservedMessages": Plain, "includeStackTraces": Plain, "serviceWorkerId": Plain}},
		"list_network_requests": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "pageSize": Plain, "pageIdx": Plain,
			"resourceTypes": Plain, "includePreservedRequests": Plain}},
		"list_pages": {risk: permissions.ReadOnly, category: CategoryNetwork},
		"navigate_page": {kind: KindFetch, roles: roles{"pageId": Plain, "type": Plain, "url": URL, "ignoreCache": Plain,
			"handleBeforeUnload": Plain, "initScript": Code, "timeout": Plain}},
		"new_page":                    {kind: KindFetch, roles: roles{"url": URL, "background": Plain, "isolatedContext": Plain, "timeout": Plain}},
		"performance_analyze_insight": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "insightSetId": Plain, "insightName": Plain}},
		"performance_start_trace": {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "reload": Plain, "autoStop": Plain,
			"ignoreCache": Plain, "filePath": WritePath}},
		"performance_stop_trace": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "filePath": WritePath}},
		"press_key":              {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "key": Plain, "includeSnapshot": Plain}},
		"resize_page":            {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "width": Plain, "height": Plain}},
		"screencast_start":       {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "filePath": WritePath}},
		"screencast_stop":        {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain}},
		"select_page":            {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "bringToFront": Plain}},
		"take_heapsnapshot":      {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "filePath": WritePath}},
		"take_screenshot": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "format": Plain, "quality": Plain,
			"uid": Plain, "fullPage": Plain, "filePath": WritePath}},
		"take_snapshot": {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "verbose": Plain, "filePath": WritePath}},
		"type_text":     {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "text": Plain, "submitKey": Plain}},
		"upload_file":   {risk: permissions.Network, category: CategoryNetwork, roles: roles{"pageId": Plain, "uid": Plain, "filePaths": ReadPath, "includeSnapshot": Plain}},
		"wait_for":      {risk: permissions.ReadOnly, category: CategoryNetwork, roles: roles{"pageId": Plain, "text": Plain, "timeout": Plain}},
	},
}

// otherNames are further names of catalogue packages: binaries, container images and PyPI modules. The image
// of the file server is none of them: links in its paths are resolved in the container and not here.
var otherNames = map[string]string{
	"mcp-server-filesystem":          "@modelcontextprotocol/server-filesystem",
	"mcp-server-everything":          "@modelcontextprotocol/server-everything",
	"mcp/everything":                 "@modelcontextprotocol/server-everything",
	"mcp-server-memory":              "@modelcontextprotocol/server-memory",
	"mcp/memory":                     "@modelcontextprotocol/server-memory",
	"mcp-server-sequential-thinking": "@modelcontextprotocol/server-sequential-thinking",
	"mcp/sequentialthinking":         "@modelcontextprotocol/server-sequential-thinking",
	"mcp-server-postgres":            "@modelcontextprotocol/server-postgres",
	"desktop-commander":              "@wonderwhy-er/desktop-commander",
	"playwright-mcp":                 "@playwright/mcp",
	"mcp-server-playwright":          "@playwright/mcp",
	"mcp_server_git":                 "mcp-server-git",
	"mcp/git":                        "mcp-server-git",
	"mcp_server_fetch":               "mcp-server-fetch",
	"mcp/fetch":                      "mcp-server-fetch",
	"mcp_server_time":                "mcp-server-time",
	"mcp/time":                       "mcp-server-time",
	"mcp_server_sqlite":              "mcp-server-sqlite",
	"mcp/sqlite":                     "mcp-server-sqlite",
}
