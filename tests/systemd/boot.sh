#!/bin/bash
# A real system manager as PID 1 of private namespaces, with a journal and a user's manager: see tests/hosts.py.
#
#   unshare --fork --kill-child --pid --mount --mount-proc --net --uts --ipc boot.sh FOLDER CGROUP PROGRAM [SHOWN]...
#
# A manager that is PID 1 may run what cleans a machine up at boot. So before it starts, every mount of the outer host is
# made read-only; /tmp, /root, /home, /run, /var and /dev/shm are hidden below empty ones; and of the units, generators,
# and tmpfiles that the distribution ships none is left to be seen. Any of this failing ends it before PROGRAM.
#
# Nor does it have what the whole machine shares and no namespace parts: disks, the clock, modules, raw memory.
#
# FOLDER holds what /etc/systemd (etc), /var/lib (lib), /etc/passwd, and /etc/group are inside; it outlives a reboot, and is
# the one place of the outer host that can be written. SHOWN are folders to see in hidden places, read-only.
set -euo pipefail
folder=$1 cgroup=$2 program=$3
shift 3

mount --make-rprivate /

# A cgroup of our own becomes the root of what is seen, so that two private hosts never meet.
umount -R /sys/fs/cgroup 2>/dev/null || umount -l /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p "/sys/fs/cgroup/$cgroup"
echo $$ >"/sys/fs/cgroup/$cgroup/cgroup.procs"
umount /sys/fs/cgroup

mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
while read -r _ _ _ _ point _; do
  point=$(printf '%b' "$point")
  case $point in
    # of the outer /proc, which the new one covers, and what is hidden below
    /proc | /proc/* | /tmp/* | /root/* | /home/* | /run/* | /var/* | /dev/shm/*) continue ;;
  esac
  mount -o remount,bind,ro "$point"
done <<<"$(cat /proc/self/mountinfo)"

# Held here while what is above them gets hidden.
held=/mnt
mount -t tmpfs tmpfs "$held"
mkdir "$held/folder"
mount --bind "$folder" "$held/folder"
mount -o remount,bind,rw "$held/folder"
number=0
for shown in "$@"; do
  number=$((number + 1))
  mkdir "$held/$number"
  mount --bind "$shown" "$held/$number"
  mount -o remount,bind,ro "$held/$number"
done

# A mount that is read-only does not keep anybody from writing to a disk's device: only these are there.
mkdir "$held/dev"
mount -t tmpfs -o mode=755 tmpfs "$held/dev"
for each in null zero full random urandom tty; do
  touch "$held/dev/$each"
  mount --bind "/dev/$each" "$held/dev/$each"
done
mkdir "$held/dev/shm" "$held/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$held/dev/pts"
ln -s pts/ptmx "$held/dev/ptmx"
ln -s /proc/self/fd "$held/dev/fd"
mount --rbind "$held/dev" /dev
mount -o remount,bind,ro /dev

for each in /tmp /root /home /run /var /dev/shm; do mount -t tmpfs -o mode=755 tmpfs "$each"; done
chmod 1777 /tmp /dev/shm
mkdir -p /run/systemd/system /run/lock /var/lib /var/log /var/tmp

for each in /usr/lib/systemd/system /usr/lib/systemd/user /usr/lib/systemd/system-generators \
  /usr/lib/systemd/user-generators /usr/lib/systemd/system-preset /usr/lib/tmpfiles.d /usr/lib/sysctl.d \
  /usr/lib/sysusers.d /usr/lib/modules-load.d /usr/local/lib/systemd /etc/tmpfiles.d /etc/sysctl.d /etc/init.d; do
  if [ -e "$each" ]; then mount -t tmpfs -o ro tmpfs "$each"; fi
done

mount --bind "$held/folder/etc" /etc/systemd
mount --bind "$held/folder/lib" /var/lib
mount --bind "$held/folder/passwd" /etc/passwd
mount --bind "$held/folder/group" /etc/group
mkdir -p "$folder"
mount --bind "$held/folder" "$folder"
number=0
for shown in "$@"; do
  number=$((number + 1))
  mkdir -p "$shown"
  mount --bind "$held/$number" "$shown"
done
umount -R "$held"

# Nothing starts that could still write outside.
for each in / /etc /usr /proc/sys; do
  if findmnt --noheadings --output OPTIONS --target "$each" | grep -qE '(^|,)rw(,|$)'; then
    echo "$each can be written" >&2
    exit 1
  fi
done

lost=-sys_time,-sys_module,-sys_rawio,-mknod,-syslog
# shellcheck disable=SC2016 # what stands in quotes is for the inner shell
exec unshare --cgroup sh -euc '
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec env -i PATH="$PATH" container=test setpriv --bounding-set="$1" "$0" --system --unit=test.target --log-target=journal --show-status=no' "$program" "$lost"
