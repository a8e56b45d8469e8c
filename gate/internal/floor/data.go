package floor

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate/internal/companions"
	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
	"callgate/internal/textscan"
	"callgate/shellparse/programs"
)

// This file holds what the floor looks for.

var lossWords = map[tools.Loss]string{
	tools.Removed: "removes or overwrites", tools.Moved: "moves away", tools.Closed: "changes permissions in all of", tools.Cleaned: "removes all untracked files of", tools.Told: "removes or overwrites", tools.Listed: "removes folders from a list,",
}

// vitalFolders lists folders without which a machine or an account does not work, or that hold a person's work.
var vitalFolders = []struct{ pattern, what string }{
	{"/", "the root of the file system"},
	{"/*", "a folder of the system"},
	{"/usr/*", "a folder of the system"}, {"/var/lib", "a folder of the system"}, {"/var/log", "a folder of the system"}, {"/System/*", "a folder of the system"}, {"/Library/*", "a folder of the system"},
	{"/home/*", "a home"}, {"/Users/*", "a home"}, {"/export/home/*", "a home"}, {"/var/root", "a home"},
	{"/mnt/*", "a mount point"}, {"/media/*", "a mount point"}, {"/media/*/*", "a mount point"}, {"/run/media/*/*", "a mount point"}, {"/Volumes/*", "a mount point"},
	{"[A-Za-z]:", "the root of a drive"}, {`[A-Za-z]:[/\\]`, "the root of a drive"}, {`[A-Za-z]:[/\\]Users`, "all homes"}, {`[A-Za-z]:[/\\]Users[/\\]*`, "a home"}, {`[A-Za-z]:[/\\]Windows`, "a folder of the system"},
}

// homeFolders lists the folders of a home that hold a person's work or keys.
var homeFolders = facts.WordsOf(`Documents Desktop Downloads Pictures Photos Music Videos Movies Public Library Dropbox OneDrive Projects projects Project Code code
	src Source source dev Dev Developer development work Work workspace workspaces repos repositories git github go sites Sites www
	.ssh .gnupg .config .local .aws .azure .kube .docker .password-store .mozilla .thunderbird .cache .git .claude .codex .gemini .cursor .vscode .local/share`)

// vital returns why the file or folder at a path must not be lost, or "" if it is like any other.
func vital(w tools.Wipe, place tools.Place) string {
	if w.How == tools.Told {
		return "which names what only running it tells"
	}
	if w.How == tools.Listed {
		return "of which nobody has read what they are"
	}
	path := strings.TrimSuffix(filepath.Clean(w.Path), "/.")
	holds := func(folder string) bool { return folder != "" && facts.Within(folder, path) }
	switch {
	case place.Home != "" && path == place.Home:
		return "a home"
	case holds(place.Home):
		return "which contains a home"
	}
	if what := vitalName(w, path, place.Home); what != "" {
		return what
	}
	if slices.Contains(mounts(), path) && !strings.HasPrefix(path, "/dev/") {
		return "a mount point"
	}
	if w.How == tools.Closed {
		return "" // its owner can open it again
	}
	roots := append(place.Roots[:len(place.Roots):len(place.Roots)], place.Dir)
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); holds(root) || err == nil && holds(real) {
			return "which is or contains the workspace"
		}
	}
	inside := slices.ContainsFunc(append(roots, place.Home), func(root string) bool { return root != "" && facts.Within(path, root) })
	if !inside && slices.ContainsFunc([]string{"/tmp", "/var/tmp", os.TempDir()}, func(temp string) bool { return facts.Within(path, temp) }) {
		return "" // a temporary copy
	}
	return repository(path, w.How)
}

// vitalName returns why a path must not be lost, by its name alone, or "".
func vitalName(w tools.Wipe, path, home string) string {
	for _, v := range vitalFolders {
		if ok, err := filepath.Match(v.pattern, path); err == nil && ok && !(w.How == tools.Moved && v.pattern == "/*" && path == "/tmp") {
			return v.what
		}
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" && homeFolders[rest] && w.How != tools.Cleaned {
		return "a folder that holds a person's work or keys"
	}
	return ""
}

// repository returns which part of a repository is at a path, or "".
func repository(path string, how tools.Loss) string {
	switch filepath.Base(path) {
	case ".git", ".hg", ".svn", ".jj":
		return "the history of a repository"
	}
	if info, err := os.Lstat(filepath.Join(path, ".git")); err == nil && how != tools.Moved && (info.IsDir() || info.Mode().IsRegular()) {
		return "the root of a repository"
	}
	return ""
}

// mounted caches the mount points.
var mounted struct {
	sync.Mutex
	read   time.Time
	points []string
}

// mounts returns the mount points of this machine, if the system tells them.
func mounts() []string {
	mounted.Lock()
	defer mounted.Unlock()
	if !mounted.read.IsZero() && time.Since(mounted.read) < companions.InterfacesFor {
		return mounted.points
	}
	text, _ := os.ReadFile("/proc/self/mountinfo") // other systems have none
	mounted.read, mounted.points = time.Now(), nil
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) > 4 {
			point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(string(fields[4]))
			if info, err := os.Stat(point); err == nil && info.IsDir() {
				mounted.points = append(mounted.points, point)
			}
		}
	}
	return mounted.points
}

// isBlockDevice reports whether a path is a disk, by its name or by what is there.
func isBlockDevice(path string) bool {
	if blockDevice.MatchString(path) {
		return true
	}
	if !strings.HasPrefix(path, "/dev/") {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeCharDevice == 0
}

var (
	blockDevice = lazyregexp.New(`^/dev/(?:r?disk\d|[hsv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|md\d|dm-\d|mapper/[^c]|loop\d|sr\d|zd\d|nbd\d|disk/|mem$|kmem$|mtd)|^\\\\\.\\PhysicalDrive`)
	formatVerbs = lazyregexp.New(`(?i)^(?:erase.*|partitiondisk|zerodisk|secureerase|reformat|labelclear|destroy|[a-z]:)$`)

	haveVerbs       = facts.WordsOf("cryptsetup diskutil nvme zpool")
	onlyLists       = facts.WordsOf("list info status luksDump id-ctrl smart-log")
	partitioners    = facts.WordsOf("fdisk sfdisk gdisk parted") // not sgdisk, whose -l loads a table
	listsPartitions = facts.WordsOf("-l --list print free all")

	byExpression = facts.WordsOf("pkill pgrep grep egrep rg ag") // others match names exactly, unless an option says otherwise
	filters      = facts.WordsOf("awk gawk mawk nawk sed perl ruby python python3 node")
	selects      = facts.WordsOf("pkill pgrep killall")
	inverts      = facts.WordsOf("pkill pgrep")
	oneOf        = lazyregexp.New(`\[(\w)\]`)                                                    // [c] in a regular expression
	invertOption = lazyregexp.New(`^(?:-[aceflinowx]*v[aceflinowx]*|--inverse)$`)                // all but what the pattern matches
	userOption   = lazyregexp.New(`^(?:-[uUGt]\S*|--(?:euid|uid|user|group|terminal)(?:=.*)?)$`) // all of a user or terminal, unless a pattern follows
	boundaries   = strings.NewReplacer(`\<`, "", `\>`, "", "\\`", "", `\'`, "")
)

// formats reports whether a program changes devices as a whole.
func formats(program string) bool {
	return About(program).Has(programs.Formats) || strings.HasPrefix(program, "mkfs") || strings.HasPrefix(program, "newfs")
}

// What prints the environment.
var (
	jqDumps         = lazyregexp.New(`(?:^|[\s(,|+])(?:env|\$ENV)(?:$|[\s),|+])`) // of jq and those like it
	environmentFile = lazyregexp.New(`/proc/[^/]+/environ`)
	codeDumps       = lazyregexp.New(`^%\w*(?i:SECRET|TOKEN|PASSW|API_?KEY|ACCESS_?KEY|PRIVATE)\w*$|os\.environ(?:b?\s*(?:[^\[.\s]|$)|\.(?:copy|items|values)\()|process\.env(?:\s*(?:[^.\[\w\s]|$))|\bin\s+ENVIRON\s*\)|\bENV\.(?:to_|inspect|map|each)|%ENV|\$_(?:ENV|SERVER)\b|getenv\(\)|(?i:get-childitem|gci|dir|ls)\s+env:`)
)

// What sends.
var (
	senderLines = lazyregexp.New(`^(?:aws s3 (?:cp|mv|sync)|aws s3api put-object|aws (?:secretsmanager|ssm|kms|lambda|ecs|iam) |gh (?:gist|issue|pr|release|secret|variable|api|codespace|ssh-key|repo) |glab (?:snippet|issue|mr|release|variable|api|repo) |gcloud (?:storage|secrets|compute|functions|run)|az (?:storage|keyvault|webapp|container|vm)|(?:kubectl|oc) (?:cp|create|apply|replace|patch|set|exec|run|debug|annotate|label|edit)|(?:docker|podman|nerdctl|finch) (?:cp|push|build|buildx|image|run|create|exec|secret|config|compose|container|stack|service)|` +
		`npm publish|git push|cloudflared|ngrok|(?:heroku|fly|flyctl|vercel|netlify|wrangler|railway|render|supabase|firebase|doppler|vault|consul|nomad|helm|doctl|hcloud|ibmcloud|oci|pscale|turso|infisical|eb) )`)
	served        = lazyregexp.New(`^(?:python[\d.]* .*-m (?:http\.server|SimpleHTTPServer)|php -S|(?:npx |bunx |pnpm dlx |pnpx )?(?:-y )?(?:serve|http-server|live-server)(?: |$)|caddy file-server|ruby .*-run .*httpd|busybox httpd|miniserve|darkhttpd|twistd .*web)`)
	mayServe      = strings.Fields("serve httpd SimpleHTTP php twistd")
	proxyVariable = lazyregexp.New(`(?i)\b(?:(?:https?|all|ftp|rsync|grpc|socks)[_.])?proxy=["']?([^\s;&|"']+)`)
	reroutes      = lazyregexp.New(`^(?:-[0-9aBfgGiIjklLMnNOpqRsSvVZ#]*[xK]|--(?:resolve|connect-to|config|(?:dns|doh|proxy|preproxy|https?-proxy|socks)[a-z0-9.-]*)(?:=|$))|(?i:(?:https?|all|ftp)_proxy *=)`) // a request goes to another host than it names
	proxyCommand  = lazyregexp.New(`(?i)^(?:-o)?\s*proxy(?:command|jump)[= ](.*)$`)
	codeSends     = []string{"http://", "https://", "socket", "urllib", "requests.", "fetch(", "http.client", "Net::HTTP", "LWP::", "file_get_contents(", "smtplib"}
	sendWords     = strings.Fields("upload send attach post share mail submit publish push transfer export import sync")
)

// shower matches commands that put out credentials, and the hosts that these are for; nil means that nobody knows them.
type shower struct{ says, home *lazyregexp.Regexp }

var showing = []shower{
	{lazyregexp.New(`^(?:gpg2? .*--export-secret\S*|security find-\S+-password\b.* -w|secret-tool lookup|(?:pass|gopass) (?:show )?(?:-\S+ )*[\w/]+|keyring get|op read|op item get|bw (?:get|list|export)|rbw get|lpass show|vault (?:kv get|read)|aws secretsmanager (?:batch-)?get-secret-value|aws ssm get-parameters?\b.* --with-decryption|gcloud secrets versions access|az keyvault secret show|(?:kubectl|oc) get secrets?\b.* (?:-o|--output)[= ]?(?:yaml|json|go-template|custom)\S*|kubectl config view\b.* --raw|doppler secrets (?:get|download)|chamber export|git credential fill|aws configure export-credentials)(?: |$)`), nil},
	{lazyregexp.New(`^gh auth token`), lazyregexp.New(`(?i)^(?:[\w.-]+\.)?github(?:usercontent)?\.com$`)},
	{lazyregexp.New(`^gcloud auth (?:application-default )?print-access-token`), lazyregexp.New(`(?i)\.(?:googleapis\.com|google\.com|pkg\.dev|gcr\.io)$|^gcr\.io$`)},
	{lazyregexp.New(`^az account get-access-token`), lazyregexp.New(`(?i)\.(?:azure\.(?:com|net)|microsoft\.com|windows\.net|visualstudio\.com|azurecr\.io)$`)},
	{lazyregexp.New(`^(?:fly|flyctl) auth token`), lazyregexp.New(`(?i)\.(?:fly\.io|machines\.dev)$`)},
	{lazyregexp.New(`^heroku auth:token`), lazyregexp.New(`(?i)\.heroku\.com$`)},
	{lazyregexp.New(`^doctl auth token`), lazyregexp.New(`(?i)\.digitalocean\.com$`)},
}

// saysSends reports whether the name of a tool says that it sends.
func saysSends(name string) bool {
	return holdsAny(strings.ReplaceAll(strings.ToLower(name), "ſ", "s"), sendWords)
}

// Options and programs that use a key to log in without sending it.
var (
	proves       = lazyregexp.New(`^(?:-i|-E|--rsh|--key|--cert|--cacert|--capath|--netrc-file|--kubeconfig|--config|--userconfig|--identity.*|--private-key|--ssh-key|--credential.*|--env-file|--key-file|--cert-file)$`)
	provesItself = lazyregexp.New(`^(?:-i.+|--(?:key|cert|cacert|capath|netrc-file|kubeconfig|config|userconfig|identity[\w-]*|private-key|credential[\w-]*|env-file|key-file|cert-file)=|-[oe]\s?[A-Za-z].*|ssh\s+-i)`)
	copierOption = lazyregexp.New(`^-[FSoec]$`)
)

// maxStore and maxAddressText bound, in bytes, texts that are taken for a path or searched for an address.
const (
	maxStore       = 4096
	maxAddressText = 1 << 20
	maxBareAddress = 512 // of an address without a scheme, which begins with its host
)

// MayNameStore reports, at a quick look, whether arguments may name a credential store. Every store's name has a dot or
// a word of mayStore, in any case.
func MayNameStore(arguments []byte) bool {
	return jsonx.MayHold(arguments, ".") || holdsAny(strings.ToLower(textscan.String(arguments)), mayStore)
}

// mayStore lists parts, in lower case, of store names without a dot.
var mayStore = strings.Fields("id_ _netrc shadow sudoers keychains login")

// serves reports whether a command lets others fetch files.
func serves(line string) bool { return holdsAny(line, mayServe) && served.MatchString(line) }

type prefix = netip.Prefix

// The metadata services of clouds.
var (
	metadataNetworks = []prefix{
		netip.MustParsePrefix("169.254.0.0/16"),      // AWS, Azure, Google, Oracle, DigitalOcean, OpenStack, Hetzner, Scaleway; ECS and EKS tasks
		netip.MustParsePrefix("fd00:ec2::/32"),       // AWS
		netip.MustParsePrefix("fd20:ce::/32"),        // Google
		netip.MustParsePrefix("fd00:42::42/128"),     // Scaleway
		netip.MustParsePrefix("fe80::a9fe:a9fe/128"), // OpenStack
		netip.MustParsePrefix("100.100.100.200/32"),  // Alibaba
		netip.MustParsePrefix("168.63.129.16/32"),    // Azure's agent
		netip.MustParsePrefix("192.0.0.192/32"),      // Oracle
	}
	metadataNames = facts.WordsOf(`metadata metadata.google.internal metadata.goog instance-data instance-data.ec2.internal metadata.tencentyun.com metadata.packet.net
		metadata.platformequinix.com metadata.azure.internal metadata.oraclecloud.com metadata.internal rancher-metadata`)
	metadataInName = lazyregexp.New(`(?:^|[.-])(?:169[.-]254[.-]\d+[.-]\d+|100[.-]100[.-]100[.-]200|168[.-]63[.-]129[.-]16|a9fe[0-9a-f]{4})[.-]`) // 169.254.169.254.nip.io
)

// inetHost finds the host of a connection as awk spells it.
var inetHost = lazyregexp.New(`/inet[46]?/(?:tcp|udp)/[^/]*/([^/"'\s]+)/`)

// plainHost matches the beginning of an address that no program takes for another host's.
var plainHost = lazyregexp.New(`^https?://[a-zA-Z0-9.-]+/`)

// mayNameMetadata reports, at a quick look, whether a text may name a metadata service. Every spelling has a digit of
// any script, a URL or a word of mayMetadata.
func mayNameMetadata(text string) bool {
	return companions.MayNameAddress(text) || holdsAny(textscan.Lower(text), mayMetadata)
}

var mayMetadata = []string{"metadata", "instance-data"}

// What switches off the permission checks of other agents.
var (
	offSwitch     = lazyregexp.New(`^--dangerously-|^--allow-dangerously-|^--yolo$|^--full-auto$|(?i)^--?(?:permission-mode|approval-mode|ask-for-approval|sandbox)=?(?:bypass.*|yolo|never|danger.*|auto_edit)|(?i:bypassPermissions|danger-full-access|approval_policy\W+never)`)
	maySettle     = strings.Fields("permission approv danger yolo alwaysallow")  // in lower case; each match of offSetting has one
	mayDisarm     = strings.Fields("anger yolo ypass full-auto never auto_edit") // in lower case; each match of offSwitch has one
	agentSettings = lazyregexp.New(`(?i)[/\\]\.(?:claude|codex|gemini|cursor|vscode|windsurf|continue|cline|roo|kiro|zed|config[/\\](?:opencode|goose|zed|crush))[/\\]|[/\\](?:settings|config|mcp|permissions?)[\w.-]*\.(?:json|jsonc|toml|ya?ml)$|\.claude\.json$`)
	offSetting    = lazyregexp.New(`(?i)bypassPermissions|auto_?approve|danger-full-access|approval_policy\W+never|skipPermissions|dangerously|"yolo"|alwaysAllow|autoApproval`)
)

// loss is an operation on another machine that cannot be undone. A command counts if says matches its words, in lower
// case between single spaces, and local, which recognizes things of this machine, does not.
type loss struct {
	what  string
	says  *lazyregexp.Regexp
	local *lazyregexp.Regexp
}

// mayLose lists words in lower case. Each of losses needs one of them.
var mayLose = strings.Fields("rollback force unpublish yank disable delet destroy drop fresh wipe clean down terminat accept-data-loss purge flush reset truncate remove deprovision schedule-key rb rm etcdctl forget prune expire recursive pg_restore lvreduce vgreduce")

// localClusters matches the beginnings of contexts of clusters on this machine.
const localClusters = `(?:kind-|minikube|docker-desktop|k3d-|colima|orbstack|rancher-desktop)`

// deletes and wholeProject match the words of a request that deletes a whole repository or project.
const (
	deletes      = `(?:-x|--method|--request)[ =]?delete`
	wholeProject = `(?:/?projects/[^/? ]+|\S*?(?:repos/[^/? ]+/[^/? ]+|api/v4/projects/[^/? ]+))/?`
)

const options = `(?: -\S+(?: [^\s-]\S*)?)*`

var losses = []loss{
	{"data", lazyregexp.New(` --accept-data-loss `), nil},
	{"infrastructure", lazyregexp.New(` (?:terraform|tofu|terragrunt|pulumi|cdk|cdktf|sls|serverless|sam|eksctl|kops|copilot)` + options + `(?:(?: run-all| stack| apply)? (?:destroy|remove|delete|-destroy)| stack rm)(?: |$)`), nil},
	{"infrastructure", lazyregexp.New(` (?:terraform|tofu|terragrunt) apply .*-destroy `), nil},
	{"cloud resources", lazyregexp.New(` aws` + options + ` [a-z0-9-]+` + options + ` (?:terminate-\S+|delete-(?:db\S*|table|bucket|volume|snapshot\S*|stack|cluster|nodegroup|file-system|hosted-zone|function|repository|user-pool|user|role|key-pair|secret|log-group|domain|vault|backup\S*|recovery-point|global-table|vpc|account|objects|queue|stream|replication-group|cache-cluster|instance\S*|app|rest-api|organization\S*)|schedule-key-deletion|batch-delete-image|deregister-image|purge-queue|remove-account\S*) `), lazyregexp.New(`(?:--endpoint-url|aws_endpoint_url\w*)[= ]\S*(?:localhost|127\.0\.0\.1|localstack)`)},
	{"cloud storage", lazyregexp.New(` aws` + options + ` s3` + options + ` (?:rb .*--force |rm .*--recursive |sync .*--delete )`), lazyregexp.New(`(?:--endpoint-url|aws_endpoint_url\w*)[= ]\S*(?:localhost|127\.0\.0\.1|localstack)`)},
	{"cloud storage", lazyregexp.New(` (?:gsutil` + options + ` (?:rb|rm .*-r|rm -r|rm \S*\*)|gcloud` + options + ` storage rm (?:.* )?(?:-r|--recursive|\S*\*\S*)|rclone` + options + ` (?:purge|delete|rmdirs)|s3cmd` + options + ` (?:rb|(?:del|rm) (?:.* )?(?:-r|--recursive))|s5cmd` + options + ` (?:rb|rm) \S*\*\S*|mc (?:rb|rm .*--recursive)|az storage \S+ (?:delete|delete-batch)|azcopy (?:rm|remove) .*--recursive\S*|(?:hdfs dfs|hadoop fs)` + options + ` -(?:rm (?:.* )?-r|rmr|expunge)|databricks fs rm (?:.* )?-r) `), nil},
	{"cloud resources", lazyregexp.New(` (?:gcloud|az|doctl|linode-cli|ibmcloud|oci|hcloud|scw|civo|vultr-cli|exo)(?: [a-z0-9@:._-]+){1,4} (?:delete|destroy|terminate|purge)(?: |$)`), nil},
	{"what a platform hosts", lazyregexp.New(` (?:heroku` + options + ` (?:apps:destroy|pg:reset|addons:destroy|destroy|pg:backups:delete)|(?:fly|flyctl)` + options + ` (?:apps |volumes |machine |postgres )?(?:destroy|delete)|railway` + options + ` (?:volume (?:delete|remove)|delete|environment delete|down)|vercel` + options + ` (?:rm|remove|project rm|env rm)|netlify` + options + ` (?:sites:delete|api delete\S*)|wrangler` + options + ` (?:delete|d1 delete|r2 bucket delete|kv\S* (?:namespace )?delete)|firebase` + options + ` (?:firestore:delete|database:remove|projects:delete|hosting:disable|functions:delete)|render \S+ delete|supabase` + options + ` (?:projects|branches|functions) delete|neonctl` + options + ` \S+ delete|(?:pscale|turso|planetscale)` + options + ` (?:database|db|branch|group) (?:delete|destroy)|hasura .*metadata clear|appwrite \S+ delete|gh` + options + ` (?:repo|release|secret|environment) delete|(?:gh|glab)` + options + ` secret remove|glab` + options + ` (?:repo|project) delete|hub delete)(?: |$)`), nil},
	{"what a platform hosts", lazyregexp.New(` (?:(?:gh|glab)` + options + ` api|curl) (?:.* )?(?:` + deletes + ` (?:.* )?` + wholeProject + ` |` + wholeProject + ` (?:.* )?` + deletes + ` )`), nil},
	{"what a cluster runs", lazyregexp.New(` (?:kubectl|oc)` + options + ` delete` + options + ` (?:\S+,)?(?:ns|namespaces?|projects?|pv|pvc|persistentvolume\S*|nodes?|crd\S*|customresource\S*|sts|statefulsets?|all)(?:[ /,]|$)| (?:kubectl|oc)\b.* delete (?:.* )?--all(?:=true)? `), lazyregexp.New(`^ minikube | --context[= ]` + localClusters)},
	{"a published package", lazyregexp.New(` (?:(?:npm|pnpm|yarn) unpublish|cargo yank|gem yank)(?: |$)`), nil},
	{"a store of keys", lazyregexp.New(` (?:etcdctl` + options + ` del (?:.* )?--(?:prefix|from-key)|consul` + options + ` kv delete (?:.* )?-recurse) `), nil},
	{"messages", lazyregexp.New(` kafka-topics(?:\.sh)? (?:.* )?--delete `), lazyregexp.New(`--bootstrap-server[= ](?:localhost|127\.0\.0\.1):`)},
	{"backups", lazyregexp.New(` (?:borg` + options + ` (?:delete|prune)|restic` + options + ` (?:forget|prune)|kopia` + options + ` snapshot delete|velero` + options + ` backup delete|duplicity` + options + ` remove-\S+|pgbackrest (?:.* )?(?:expire|stanza-delete)|wal-g` + options + ` delete|(?:vssadmin|wbadmin|tmutil) delete\S*) `), nil},
	{"a volume", lazyregexp.New(` (?:lvremove|vgremove|pvremove|lvm (?:lv|vg|pv)remove|zfs` + options + ` destroy|btrfs` + options + ` subvolume delete|lvreduce|vgreduce|dmsetup (?:remove_all|wipe_table)|ceph` + options + ` (?:osd purge|osd pool (?:delete|rm)|fs rm|osd destroy)|rbd` + options + ` (?:rm|remove|purge|trash purge|snap purge)|gluster` + options + ` volume delete) `), nil},
	{"secrets", lazyregexp.New(` (?:vault` + options + ` kv (?:destroy|metadata delete)|vault` + options + ` secrets disable)(?: |$)`), nil},
	{"the database", lazyregexp.New(` supabase` + options + ` db reset .*--(?:linked|db-url)`), nil},
	{"the database", lazyregexp.New(` (?:prisma|rails|rake|artisan|doctrine\S*|sequelize\S*|typeorm|mikro-orm|drizzle-kit|knex|alembic|flask|manage\.py|django-admin|ecto|mix|diesel|sqlx|sea-orm-cli|flyway|liquibase|hasura|goose|dbmate|atlas|migrate|mongosh?)\b.* (?:--env\S*[= ]|--environment[= ]|-e |node_env=|rails_env=)?prod\S* .*(?:reset|drop|fresh|wipe|flush|clean|down)|(?:rails_env|rack_env|node_env|mix_env|app_env|django_settings_module)=\S*prod\S* .*(?:reset|drop|fresh|wipe|flush|clean)`), nil},
	{"the database", lazyregexp.New(` (?:prisma` + options + ` (?:migrate reset .*(?:--force|-f)|db push .*--force-reset)|drizzle-kit` + options + ` (?:drop|push .*--force)|django-admin (?:flush|reset_db)|knex` + options + ` migrate:rollback .*--all|hasura migrate apply .*--down|dotnet` + options + ` ef database drop|goose(?: .*)? down-to 0|rails` + options + ` db:(?:drop|reset|purge)\S*|rake` + options + ` db:(?:drop|reset|purge)\S*|artisan (?:db:wipe|migrate:fresh|migrate:reset)|doctrine:(?:database|schema):drop|sequelize\S* db:drop|typeorm\S* schema:drop|ecto\.(?:drop|reset)|diesel database reset|sqlx database (?:drop|reset)|flyway\S*` + options + ` clean|liquibase` + options + ` drop-?all|alembic downgrade base|manage\.py (?:flush|reset_db)|dbmate drop|goose .* reset|migrate .* (?:drop|down .*-all)|atlas schema clean)(?: |$)`), lazyregexp.New(`localhost|127\.0\.0\.1| (?:rails_env|rack_env|node_env|mix_env|app_env)=(?:test|dev\S*) |--env(?:ironment)?[= ](?:test|dev\S*) |-e (?:test|dev\S*) |sqlite|file:`)},
	{"the database", lazyregexp.New(` (?:dropdb|mysqladmin .*drop|mongosh?\b.*(?:dropdatabase|\.drop\(\s*\)|\.(?:deletemany|remove)\(\s*\{\s*\}\s*\))|(?:redis-cli|valkey-cli)\b.* flush(?:all|db)|(?:cqlsh|clickhouse-client|snowsql|bq|sqlcmd|influx)\b.*(?:drop |truncate | rm | delete ))`), ownDatabase},
	{"the database", lazyregexp.New(` (?:pg_restore (?:.* )?(?:-c|--clean)|mongorestore (?:.* )?--drop) `), anything}, // spared unless it names a host elsewhere
	{"what an address serves", lazyregexp.New(`mutation\b.*\b\w*(?:delete|destroy|drop|purge|terminate|wipe)\w*\s*(?:\(|\{)`), lazyregexp.New(`https?://(?:localhost|127\.0\.0\.1|\[::1\])[:/ ]`)},
}

// ownDatabase recognizes a database of this machine, or one for tests or development.
var ownDatabase = lazyregexp.New(`(?:(?:-h|--host)[= ]?|host(?:addr)?=)(?:localhost|127\.0\.0\.1|::1|/)|(?:@|://)(?:localhost|127\.0\.0\.1|\[::1\])[:/]| -d \S*(?:test|_dev)\b|(?:_test|_dev)\b| --local `)

var anything = lazyregexp.New("")

// namedHost finds the hosts that a line of losses names, and localHost matches those that are this machine.
var (
	namedHost = lazyregexp.New(` (?:-h ?|--host[ =]|\w*host(?:addr)?=|--context[ =])["']?([^\s"'-][^\s"']*)|\b(?:https?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|sqlserver|clickhouse)://(?:[^/\s"']*@)?([^/\s"'?]*)`)
	localHost = lazyregexp.New(`^(?:$|/|(?:localhost|127\.0\.0\.1|::1|\[::1\]|[\w.-]*localstack)(?:$|[:/])|` + localClusters + `[\w-]*$)`)
)

// Statements in a tool's arguments that destroy data of a database as a whole.
var (
	losingSQL     = lazyregexp.New(`(?i)^(?:drop\s+(?:database|schema|table|owned|keyspace|user|role)|truncate(?:\s+table)?\s+["\w\x60\[]|delete\s+from\s+(?:only\s+)?(?:"[^"]*"|\x60[^\x60]*\x60|\[[^\]]*\]|[\w$.*])+\s*(?:as\s+\w+\s*)?(?:where\s+(?:true|1|\d+\s*(?:=|<=?)\s*\d+|'(?:\w*'\s*=\s*'\w*)')\s*)?(?:;|$|returning\b)|detach\s+database|match\s*\(\w*\)\s*detach\s+delete\b)`)
	sqlComment    = lazyregexp.New(`/\*!\d*|\*/|/\*(?s:.*?)\*/|--[ \t][^\n]*\n`) // what MySQL runs in a comment stays
	losingGraphQL = lazyregexp.New(`(?i)\bmutation\b[^{]*\{[^}]*?\b\w*(?:delete|destroy|drop|purge|terminate|wipe)\w*\s*[({]`)
	statements    = facts.WordsOf("mongo mongosh redis-cli valkey-cli")          // they read statements, though none of SQL
	mayLoseData   = strings.Fields("drop truncate delete detach match mutation") // in lower case; each match has one
	localDatabase = lazyregexp.New(`(?i)sqlite|duckdb|local`)
)
