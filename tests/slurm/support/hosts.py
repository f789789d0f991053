# SPDX-License-Identifier: Apache-2.0
"""The private Slurm with a host for each node: network, host name, processes and mounts of their own (namespaces of this kernel), joined by a
bridge. So ranks talk over TCP between different addresses, and a cable can be pulled."""
import os
import signal
import subprocess

from private_slurm import NODES, PrivateSlurm, wait_until

ADDRESSES = {"controller": "10.77.0.254", "n1": "10.77.0.1", "n2": "10.77.0.2", "n3": "10.77.0.3"}


class Hosts(PrivateSlurm):
    def prepare(self):
        self.holders = {}
        names = self.folder / "hosts"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {host}\n" for host, address in ADDRESSES.items()))
        for host in ADDRESSES:
            ready = self.folder / f"{host}.up"
            script = f"hostname {host}; mount --bind {names} /etc/hosts; ip link set lo up; touch {ready}; exec sleep infinity"
            holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--pid", "--ipc", "--fork", "--mount-proc", "--kill-child",
                                       "sh", "-c", script], env=self.environment(), stdin=subprocess.DEVNULL)
            wait_until(ready.exists, 10)
            children = f"/proc/{holder.pid}/task/{holder.pid}/children"
            self.holders[host] = (holder, int(open(children, encoding="ascii").read().split()[0]))
        self.on("controller", "ip link add bridge0 type bridge", f"ip addr add {ADDRESSES['controller']}/24 dev bridge0", "ip link set bridge0 up")
        for node in NODES:
            self.on("controller", f"ip link add to-{node} type veth peer name eth0 netns {self.holders[node][1]}")
            self.on("controller", f"ip link set to-{node} master bridge0", f"ip link set to-{node} up")
            self.on(node, f"ip addr add {ADDRESSES[node]}/24 dev eth0", "ip link set eth0 up")

    def places(self):
        return f"controller({ADDRESSES['controller']})", [f"NodeHostname={node} NodeAddr={ADDRESSES[node]}" for node in NODES]

    def inside(self, where):
        return ["nsenter", "-t", str(self.holders[where][1]), "-m", "-u", "-n", "-p", "-i", "--"]

    def on(self, where, *commands):
        """`ip` in that host's network, but among the processes that are seen from here."""
        for command in commands:
            subprocess.run(["nsenter", "-t", str(self.holders[where][1]), "-n", *command.split()], check=True, env=self.environment(),
                           stdin=subprocess.DEVNULL)

    def pull_cable(self, node):
        self.on("controller", f"ip link set to-{node} down")

    def stop(self):
        super().stop()
        for holder, inner in self.holders.values():
            try:
                os.kill(inner, signal.SIGKILL)  # the first process of its namespace: all others there end with it
            except ProcessLookupError:
                pass
            holder.wait()
