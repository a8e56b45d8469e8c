package workspace

import (
	"path/filepath"
	"strings"

	"callgate/gate/tools/internal/wording"
	"callgate/permissions"
)

// protected is a kind of file that makes programs do things just by being there. Only a person can release a write to
// one, whatever the rules say.
type protected struct {
	Code  string
	Why   string
	paths string // see protectedPlaces
}

// protectedPlaces is the table of such files. In paths, a word that ends in "/" is a folder and everything below it,
// and any other word a file. "/x" begins at the root and "~/x" at the home directory; other words may begin anywhere.
// "+" is a space. Case does not matter.
var protectedPlaces = []protected{
	{"host-config", "a configuration of an agent host, which says what it may run", `
		.mcp.json mcp.json .cursor/ .vscode/ .claude/ .claude.json claude_desktop_config.json .codex/ .gemini/ .qwen/
		.continue/ .cline/ .clinerules/ .roo/ .windsurf/ .codeium/ .kiro/ .copilot/ .opencode/ opencode.json opencode.jsonc
		.config/opencode/ .github/hooks/ .github/copilot/ .aider.conf.yml .zed/ .config/zed/ .idea/ .devcontainer/ .devcontainer.json .amazonq/ .factory/
		.config/code/user/ .config/code+-+insiders/user/ .config/vscodium/user/ .config/cursor/user/ .config/windsurf/user/
		roaming/code/user/ roaming/code+-+insiders/user/ roaming/vscodium/user/ roaming/cursor/user/ roaming/windsurf/user/
		application+support/code/user/ application+support/code+-+insiders/user/ application+support/vscodium/user/
		application+support/cursor/user/ application+support/windsurf/user/ roaming/claude/ application+support/claude/
		.junie/ .augment/ .trae/ .kilo/ .kilocode/ .config/kilo/ .openhands/ .fleet/ .helix/ .gitpod.yml .idx/ .amp/ .config/amp/
		.warp/ .kimi/ .lmstudio/ .rovodev/ .iflow/ .qoder/ .codebuddy/ .antigravity/ .pi/ .cagent/ .gptme/ .grok/ .kode/ .mcporter/ mcporter.json
		.crush/ .crush.json crush.json .config/crush/ .goose/ .config/goose/ callgate.yaml callgate.yml callgate.json .callgate/`},
	{"agent-file", "instructions that agents follow", `
		claude.md claude.local.md agents.md agents.override.md agent.md gemini.md qwen.md .cursorrules .windsurfrules .clinerules .roorules
		.goosehints .github/copilot-instructions.md .github/instructions/ .github/prompts/ .github/agents/ .github/chatmodes/
		skill.md .agents/ .agent/ .rules .roomodes .kilocodemodes .augment-guidelines .openhands_instructions warp.md crush.md`},
	{"start-up-file", "a file that shells or other programs run when they start", `
		.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
		.shrc .mkshrc .xonshrc .bash_completion .bashrc.d/ .zshrc.d/ .oh-my-zsh/ .config/elvish/ .config/starship.toml
		.kshrc .cshrc .tcshrc .login .logout .inputrc .xinitrc .xsession .xprofile .xsessionrc .envrc .pam_environment
		.config/fish/ config.fish .config/nushell/ profile.ps1 microsoft.powershell_profile.ps1
		.vimrc .gvimrc .exrc .nvimrc .nvim.lua .lvimrc .local.vimrc .vim/ .config/nvim/ .dir-locals.el .dir-locals-2.el .emacs .emacs.d/
		.forward .procmailrc .fetchmailrc .rtorrent.rc .taskrc .direnvrc .config/direnv/ .config/procps/ .config/neofetch/
		.config/fastfetch/ .config/pulse/ .config/plasma-workspace/
		.gdbinit .lldbinit .pythonrc .irbrc .rprofile
		.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pdbrc sitecustomize.py usercustomize.py
		site-packages/ dist-packages/ .ipython/ .jupyter/ .pryrc .ghci .iex.exs .psqlrc .sqliterc .my.cnf .octaverc .julia/config/
		.cargo/config .cargo/config.toml .gradle/init.gradle .gradle/init.gradle.kts .gradle/init.d/ ~/.gradle/gradle.properties
		.m2/settings.xml .m2/settings-security.xml bunfig.toml .bunfig.toml .condarc pip.conf pip.ini .config/pip/ .curlrc .wgetrc
		mise.toml .mise.toml mise.local.toml .mise.local.toml .mise/ .config/mise/ .lessfilter
		.tmux.conf .config/tmux/ .screenrc .config/kitty/ .config/alacritty/ .config/wezterm/ .wezterm.lua .config/ghostty/
		.config/sway/ .config/i3/ .i3/ .config/hypr/ .config/niri/ .config/river/ .config/awesome/ .config/bspwm/ .config/sxhkd/
		.config/openbox/ .xbindkeysrc .hammerspoon/
		/etc/profile /etc/profile.d/ /etc/bash.bashrc /etc/bashrc /etc/zsh/ /etc/zshrc /etc/zshenv /etc/zprofile
		/etc/bash_completion.d/ /etc/csh.cshrc /etc/csh.login /etc/fish/ /etc/skel/ /etc/vim/
		/etc/environment /etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/ /etc/sudoers /etc/sudoers.d/ /etc/pam.d/
		/etc/passwd /etc/shadow /etc/group /etc/hosts`},
	{"system-file", "a setting of the system: whom it trusts, what it records, or how it starts", `
		/etc/ssl/ /etc/pki/ /etc/ca-certificates/ /etc/ca-certificates.conf /usr/share/ca-certificates/
		/usr/local/share/ca-certificates/ /usr/local/share/certs/ /etc/hosts.allow /etc/hosts.deny /etc/resolv.conf
		/etc/nsswitch.conf /etc/security/ /etc/sudo.conf /etc/doas.conf /etc/gshadow /etc/polkit-1/ /usr/share/polkit-1/
		/etc/audit/ /etc/auditd.conf /etc/audisp/ /etc/libaudit.conf /etc/rsyslog.conf /etc/rsyslog.d/ /etc/syslog.conf
		/etc/syslog-ng/ /etc/ufw/ /etc/default/ufw /etc/iptables/ /etc/nftables.conf /etc/pf.conf /etc/selinux/
		/etc/apparmor.d/ /boot/ /etc/default/grub /etc/default/grub.d/ /etc/grub.d/ /etc/initramfs-tools/
		/etc/dracut.conf.d/ /usr/lib/dracut/ /etc/fstab /etc/sysctl.conf /etc/sysctl.d/ /etc/modules /etc/modules-load.d/
		/lib/modules/ /usr/lib/modules/ /etc/dpkg/ /var/lib/dpkg/ /etc/yum/ /etc/yum.conf /etc/yum.repos.d/ /etc/dnf/
		/etc/pacman.conf /etc/pacman.d/ /etc/apk/ /etc/zypp/ /var/log/audit/ /var/audit/ /var/log/journal/ /var/log/auth.log
		/var/log/secure /var/log/messages /var/log/syslog /var/log/system.log /var/log/kern.log /var/log/cron
		/var/log/wtmp /var/log/btmp /var/log/lastlog /var/log/faillog /var/run/utmp /run/utmp /var/spool/mail/ /var/mail/`},
	{"git-folder", "part of git's own files, whose hooks and configuration run programs", `
		.git/ git~1/ .gitconfig .config/git/ .githooks/ .husky/ /etc/gitconfig .hg/ .hgrc .svn/ .jj/`},
	{"git-folder", "the file that makes its folder a git repository, whose configuration runs programs", `
		head`},
	{"ssh-folder", "part of the SSH configuration, which says who may log in and what runs then", `
		.ssh/ /etc/ssh/ .gnupg/ authorized_keys`},
	{"search-list", "the list of what a search leaves out or brings in, files that hold secrets among it", `
		.callgateignore`},
	{"credential-file", "a file that says as whom, or by which helper programs, other machines are reached", `
		.netrc _netrc .git-credentials .aws/credentials .aws/config .kube/ .docker/config.json .config/containers/ .azure/
		.config/gcloud/ .config/gh/ .pypirc .gem/credentials .cargo/credentials .cargo/credentials.toml .terraformrc .terraform.d/`},
	{"autostart", "a place from which programs are started by themselves", `
		.config/autostart/ .config/systemd/ .config/environment.d/ .local/share/systemd/ .local/share/dbus-1/ .local/share/applications/
		library/launchagents/ library/launchdaemons/ /etc/xdg/autostart/ /etc/systemd/ /usr/lib/systemd/ /lib/systemd/ /etc/init.d/
		/etc/rc.local /etc/crontab /etc/cron.d/ /etc/cron.daily/ /etc/cron.hourly/ /etc/cron.weekly/ /etc/cron.monthly/
		/var/spool/cron/ /var/spool/at/ /etc/udev/ /etc/apt/ /etc/modprobe.d/ programs/startup/
		library/startupitems/ library/preferences/byhost/ /library/privilegedhelpertools/ /etc/emond.d/ /etc/periodic/
		/etc/rc.common /etc/launchd.conf /etc/rc.conf /etc/rc.d/ /usr/local/etc/rc.d/ /etc/rc0.d/ /etc/rc1.d/ /etc/rc2.d/
		/etc/rc3.d/ /etc/rc4.d/ /etc/rc5.d/ /etc/rc6.d/ /etc/rcs.d/ /etc/init/ /etc/inittab /etc/inetd.conf /etc/xinetd.d/
		/etc/networkmanager/ /etc/networkd-dispatcher/ /etc/network/ /etc/dhcp/ /etc/ppp/ /etc/acpi/ /etc/update-motd.d/
		/etc/dbus-1/ /usr/share/dbus-1/ /etc/binfmt.d/ /etc/tmpfiles.d/ /usr/lib/tmpfiles.d/ /usr/local/lib/systemd/
		/run/systemd/ /usr/lib/udev/ /lib/udev/ /etc/x11/ /etc/anacrontab /etc/logrotate.conf /etc/logrotate.d/`},
	{"program-folder", "a place where commands are looked up", `
		~/bin/ .local/bin/ .cargo/bin/ ~/go/bin/ .bun/bin/ .deno/bin/ .pyenv/ .rbenv/ .nvm/ .volta/ .asdf/ .sdkman/
		.local/share/mise/ .local/share/fnm/ node_modules/.bin/ /bin/ /sbin/ /usr/bin/ /usr/sbin/
		/usr/local/bin/ /usr/local/sbin/ /opt/homebrew/bin/`},
}

// placePattern is one word of the table.
type placePattern struct {
	parts    []string // lower case
	folder   bool
	root     bool
	home     bool
	category *protected
}

// placesByFirst indexes the table by the first part of each pattern.
var placesByFirst = func() map[string][]placePattern {
	index := map[string][]placePattern{}
	for i := range protectedPlaces {
		for word := range strings.FieldsSeq(protectedPlaces[i].paths) {
			p := placePattern{category: &protectedPlaces[i]}
			word, p.folder = strings.CutSuffix(strings.ReplaceAll(word, "+", " "), "/")
			word, p.root = strings.CutPrefix(word, "/")
			word, p.home = strings.CutPrefix(word, "~/")
			p.parts = strings.Split(word, "/")
			index[p.parts[0]] = append(index[p.parts[0]], p)
		}
	}
	return index
}()

// MatchPlace returns the protected place that path is or lies in, or nil if there is none.
func MatchPlace(path, home string) *protected {
	slashed := strings.ToLower(filepath.ToSlash(path[len(filepath.VolumeName(path)):]))
	homeDepth := -1
	if home != "" {
		if _, ok := Within(home, path); ok {
			homeDepth = strings.Count(strings.Trim(filepath.ToSlash(home), "/"), "/") + 1
		}
	}
	if !wording.IsASCII(slashed) {
		slashed = wording.WithoutIgnored(slashed)
	}
	parts := strings.Split(strings.Trim(slashed, "/"), "/")
	for i, part := range parts {
		if j := strings.IndexByte(part, ':'); j > 0 {
			part = part[:j] // an alternate stream
		}
		part = strings.TrimRight(part, ". ")
		for _, p := range placesByFirst[part] {
			switch {
			case p.root && i != 0, p.home && i != homeDepth:
				continue
			case len(parts)-i < len(p.parts), !p.folder && len(parts)-i != len(p.parts):
				continue
			}
			match := true
			for j := 1; j < len(p.parts); j++ {
				match = match && strings.TrimRight(parts[i+j], ". ") == p.parts[j]
			}
			if match {
				return p.category
			}
		}
	}
	return nil
}

// harmlessDevices are files below /dev that read or write nothing but the streams of their own program, or nothing at
// all. readableDevices are harmless to read.
var (
	harmlessDevices  = wording.Set("null zero full tty stdin stdout stderr console")
	readableDevices  = wording.Set("random urandom")
	deviceFolders    = []string{"fd/", "shm/"}
	settings         = []string{"/proc/", "/sys/"}
	physicalMemories = wording.Set("/proc/kcore /proc/kmem /proc/kmsg")
)

// Device returns what a file is, as the end of a sentence, if it stands for something other than data on a disk. It
// returns "" for other files.
func Device(path string, write bool) string {
	path = filepath.ToSlash(path)
	if rest, ok := strings.CutPrefix(path, "/dev/"); ok {
		for _, folder := range deviceFolders {
			if strings.HasPrefix(rest, folder) {
				return ""
			}
		}
		if rest == "" || harmlessDevices[rest] || !write && (readableDevices[rest] || IsFolder(path)) {
			return ""
		}
		return "a device"
	}
	if physicalMemories[path] {
		return "the memory of the system"
	}
	for _, prefix := range settings {
		if write && strings.HasPrefix(path, prefix) {
			return "a setting of the running system"
		}
	}
	return ""
}

// OwnStream reports whether a path is a stream of the program that opens it, wherever that of callgate leads.
func OwnStream(path string) bool {
	switch path {
	case "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/") || strings.HasPrefix(path, "/proc/thread-self/fd/")
}

// DeviceRisk returns the risk of a write to a file: Destructive for a device.
func DeviceRisk(path string) permissions.Risk {
	if Device(path, true) != "" {
		return permissions.Destructive
	}
	return permissions.Write
}
