/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * load_cxx COUNT: a C++ program with 8 threads, each of which puts COUNT strings into a map and a list and takes them
 * out again.
 */
#include <cstdlib>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

static void work(long cnt)
{
	std::map<std::string, std::vector<int>> words;
	std::list<std::string> order;

	for (long i = 0; i < cnt; i++) {
		std::string key = "a key that is not short: " + std::to_string(i * 7919 % cnt);

		words[key].push_back((int)i);
		order.push_back(key);
		if (order.size() > 1000) {
			words.erase(order.front());
			order.pop_front();
		}
	}
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 8; i++)
		threads.emplace_back(work, argc > 1 ? atol(argv[1]) : 100000);
	for (auto &t : threads)
		t.join();
}
