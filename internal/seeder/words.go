package seeder

// A word is a word in both languages of synthetic data.
type word struct{ chinese, english string }

// typeWords are the words of one shop type.
type typeWords struct {
	key    string
	weight int     // shops among about a hundred
	price  float64 // usual price per person, in whole units
	nouns  []word
	hours  []string
}

var seedTypes = []typeWords{
	{
		"restaurant", 27, 85,
		[]word{
			{"火锅", "Hot Pot"},
			{"面馆", "Noodle House"},
			{"小馆", "Kitchen"},
			{"私房菜", "Private Kitchen"},
			{"酒楼", "Banquet House"},
			{"烤鱼", "Grilled Fish"},
			{"川菜馆", "Sichuan Table"},
			{"饺子馆", "Dumplings"},
			{"海鲜", "Seafood"},
			{"砂锅", "Clay Pot"},
			{"素食", "Vegetarian Kitchen"},
			{"披萨", "Pizza"},
		},
		[]string{"10:30-21:30", "11:00-14:00,17:00-21:30", "11:00-23:00", "Tu-Su 11:00-22:00"},
	},
	{
		"cafe", 13, 32,
		[]word{
			{"咖啡", "Coffee"},
			{"咖啡烘焙", "Coffee Roasters"},
			{"茶馆", "Tea House"},
			{"咖啡馆", "Café"},
			{"奶茶", "Milk Tea"},
			{"茶室", "Tea Room"},
		},
		[]string{"08:00-20:00", "07:30-18:30", "Mo-Fr 07:30-19:00; Sa-Su 09:00-21:00", "10:00-22:30"},
	},
	{
		"fast_food", 12, 24,
		[]word{
			{"小面", "Noodles"},
			{"包子铺", "Buns"},
			{"炸鸡", "Fried Chicken"},
			{"煎饼", "Crepes"},
			{"米线", "Rice Noodles"},
			{"盖饭", "Rice Bowls"},
			{"汉堡", "Burgers"},
			{"生煎", "Pan-Fried Buns"},
		},
		[]string{"06:00-14:00", "07:00-22:00", "10:00-23:30", "24/7"},
	},
	{
		"bakery", 6, 28,
		[]word{
			{"面包房", "Bakery"},
			{"甜品", "Desserts"},
			{"糕点", "Pastries"},
			{"蛋糕店", "Cakes"},
			{"冰淇淋", "Ice Cream"},
		},
		[]string{"07:00-20:00", "09:00-21:30"},
	},
	{
		"bar", 6, 95,
		[]word{
			{"酒馆", "Tavern"},
			{"酒吧", "Bar"},
			{"精酿", "Taproom"},
			{"清吧", "Quiet Bar"},
			{"鸡尾酒", "Cocktails"},
		},
		[]string{"18:00-02:00", "17:00-01:00", "Su-Th 18:00-00:00; Fr-Sa 18:00-03:00"},
	},
	{
		"karaoke", 3, 110,
		[]word{
			{"KTV", "KTV"}, {"量贩KTV", "Karaoke"}, {"歌房", "Song Rooms"},
		},
		[]string{"12:00-02:00", "13:00-06:00"},
	},
	{
		"hair", 8, 120,
		[]word{
			{"美发", "Hair"}, {"理发店", "Barbers"}, {"造型", "Salon"}, {"美甲", "Nails"},
		},
		[]string{"10:00-21:00", "Tu-Su 10:00-20:00"},
	},
	{
		"massage", 4, 180,
		[]word{
			{"足道", "Foot Massage"}, {"推拿", "Massage"}, {"汗蒸", "Bath House"}, {"养生馆", "Spa"},
		},
		[]string{"11:00-00:00", "10:00-23:00"},
	},
	{
		"fitness", 4, 60,
		[]word{
			{"健身", "Fitness"},
			{"瑜伽", "Yoga"},
			{"羽毛球馆", "Badminton"},
			{"攀岩", "Climbing Hall"},
			{"游泳馆", "Swimming"},
		},
		[]string{"06:30-22:30", "09:00-21:00", "24/7"},
	},
	{
		"cinema", 2, 55,
		[]word{
			{"影院", "Cinema"}, {"剧场", "Theatre"}, {"小剧院", "Little Theatre"},
		},
		[]string{"10:00-00:00", "We-Su 14:00-22:00"},
	},
	{
		"kids", 3, 75,
		[]word{
			{"儿童乐园", "Play Barn"}, {"亲子馆", "Family Club"}, {"玩具店", "Toys"}, {"积木馆", "Brick Room"},
		},
		[]string{"09:30-18:30", "10:00-20:00"},
	},
	{
		"books", 3, 45,
		[]word{
			{"书店", "Books"}, {"旧书房", "Second-Hand Books"}, {"画廊", "Gallery"}, {"唱片行", "Records"},
		},
		[]string{"10:00-20:00", "Tu-Su 10:00-18:00"},
	},
	{
		"market", 8, 40,
		[]word{
			{"水果店", "Fruit"},
			{"超市", "Grocery"},
			{"便利店", "Corner Store"},
			{"菜场", "Market"},
			{"粮油铺", "Rice & Oil"},
		},
		[]string{"06:30-20:00", "08:00-22:00", "24/7"},
	},
	{
		"hotel", 4, 320,
		[]word{
			{"客栈", "Inn"}, {"民宿", "Guest House"}, {"酒店", "Hotel"}, {"青年旅舍", "Hostel"},
		},
		[]string{"24/7"},
	},
}

// shopFirst lists the first halves of names: "竹里火锅", "Bamboo Court Hot Pot".
var shopFirst = []word{
	{"老王", "Old Wang's"},
	{"阿婆", "Granny's"},
	{"小巷", "Little Lane"},
	{"桥头", "Bridge End"},
	{"青石", "Bluestone"},
	{"云边", "Cloud's Edge"},
	{"竹里", "Bamboo Court"},
	{"荷风", "Lotus Breeze"},
	{"南山", "South Hill"},
	{"巷口", "Lane Corner"},
	{"渡口", "Ferry Landing"},
	{"钟楼", "Bell Tower"},
	{"七里", "Seven Mile"},
	{"半山", "Halfway Hill"},
	{"听雨", "Rainy Day"},
	{"拾光", "Found Time"},
	{"晴天", "Clear Sky"},
	{"好运", "Good Fortune"},
	{"陈记", "Chen's"},
	{"周记", "Zhou's"},
	{"林家", "Lin Family"},
	{"何家", "He Family"},
	{"大碗", "Big Bowl"},
	{"一盏", "One Lamp"},
	{"三味", "Three Flavours"},
	{"春江", "Spring River"},
	{"秋水", "Autumn Water"},
	{"枫林", "Maple Grove"},
	{"橘子", "Tangerine"},
	{"白鹭", "White Egret"},
	{"喜鹊", "Magpie"},
	{"石榴", "Pomegranate"},
	{"杏花", "Apricot Blossom"},
	{"麦田", "Wheat Field"},
	{"月牙", "Crescent Moon"},
	{"长乐", "Long Joy"},
	{"安和", "Peace"},
	{"东篱", "East Hedge"},
	{"西窗", "West Window"},
	{"红门", "Red Door"},
	{"铁皮屋", "Tin Roof"},
	{"九阶", "Nine Steps"},
	{"纸鹤", "Paper Crane"},
	{"翠鸟", "Kingfisher"},
	{"芝麻", "Sesame"},
	{"老灯笼", "Old Lantern"},
	{"松间", "Among Pines"},
	{"麻雀", "Sparrow"},
	{"果园", "Orchard"},
	{"铜壶", "Copper Kettle"},
}

var townFirst = []string{
	"Lin", "Qing", "Yun", "Bai", "He", "Tao", "Shi", "Mei", "Nan", "Xi", "Lu", "Song", "Feng", "An", "Dong", "Long",
	"Hua", "Jin", "Ping", "Chang", "Wen", "Yong", "Gao", "Hong",
}

var townLast = []string{
	"xi", "qiao", "zhen", "wan", "pu", "an", "tang", "zhou", "men", "cheng", "yuan", "dian", "kou", "ling", "jing", "hu",
}

var seedStreets = []word{
	{"柳荫路", "Willow Shade Road"},
	{"石桥街", "Stone Bridge Street"},
	{"米市巷", "Rice Market Lane"},
	{"钟鼓路", "Bell and Drum Road"},
	{"渔港街", "Fishing Harbour Street"},
	{"杏园路", "Apricot Garden Road"},
	{"东门大街", "East Gate Avenue"},
	{"西门大街", "West Gate Avenue"},
	{"染坊弄", "Dyers' Alley"},
	{"书院街", "Academy Street"},
	{"河滨路", "Riverside Road"},
	{"竹器巷", "Bamboo Workers' Lane"},
	{"车站路", "Station Road"},
	{"新市路", "New Market Road"},
	{"茶亭街", "Tea Pavilion Street"},
	{"梅岭路", "Plum Ridge Road"},
	{"银杏道", "Ginkgo Way"},
	{"塔前街", "Pagoda Street"},
	{"盐仓巷", "Salt Store Lane"},
	{"运河路", "Canal Road"},
	{"花市街", "Flower Market Street"},
	{"铁匠弄", "Smiths' Alley"},
	{"学士路", "Scholars' Road"},
	{"南湖路", "South Lake Road"},
}
